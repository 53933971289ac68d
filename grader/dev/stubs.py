"""The texts that `dev new` writes. LESSON stands for the lesson's name; every line that holds `WRITE:` is to be replaced by its author."""

from __future__ import annotations

LESSON = """# The metadata of LESSON. `python -m grader dev check LESSON` says what is still missing.
title = "WRITE: a few words, as `list` shows them; they do not name the fault"
symptom = "WRITE: one line, what a colleague would report"
part = 1
fault = "WRITE: one line, the one planted fault (for authors only)"
concept = "WRITE: the one new idea"
tool = "WRITE: the one new tool"
tools = ["WRITE: every tool that the texts use"]
minutes = 25
knows = ["WRITE: what the learner already knows"]
breaks = ["finishes"] # WRITE: the ids of exactly those checks that the untouched exercise fails
diff_lines = 4
legs = ["main"]
hints = [
    "WRITE: a question that sends the learner to the right reading",
    "WRITE: the instrument, and where to hold it",
    "WRITE: the place, and the property that is wrong there; not what to write instead",
]

# records = ["samples"] # what enters the model, row by row: evidence.seen

[budget]
epochs = 1
seconds = 120.0 # on the wall clock, generous
memory_mb = 4096

# [contract] # where train.py is to offer more, or something else, than the README says
# offers = ["predict"] # or "loss"
# image = "any" # eval_transform may return (C, H, W) of any size
# positive = 7 # a binary head, one score an image
"""

STORY = """# LESSON: WRITE: the title

WRITE: prior knowledge, minutes, the one new idea, the one new tool.

## What you see

WRITE: what a colleague would report. Then the real output, which `python -m grader.dev.replay lessons/LESSON/README.md --write` puts in:

```console
$ python exercises/LESSON/train.py
```

## How to investigate

WRITE: question, experiment, observation, conclusion. Two or three rival explanations that predict different readings; a healthy reading beside the
sick one; the learner decides.

## The idea

WRITE: the formula and what it means.

## Your task

WRITE: what the grader's checks define as fixed, and any rule of this lesson's own.

## Tools used here

WRITE: each tool, with the name of its page in the official documentation.

## Next step

WRITE: where to go from here.
"""

WALKTHROUGH = """# LESSON with the debugger

WRITE: what this session sets out to learn. 8 to 20 commands, an observation after each, ending one step before the fix. Write the commands only:
`python -m grader.dev.replay lessons/LESSON/walkthrough.md --write` puts the real outputs in.

```pdb
$ python -m pdb exercises/LESSON/train.py
(Pdb) b main
(Pdb) c
```

WRITE: what was observed, and what follows from it.
"""

CHECKS = '''"""LESSON: WRITE: one sentence, what counts as fixed."""

from __future__ import annotations

from grader.judge import expect

# WRITE: put this lesson's own checks among the common ones, in the order in which they are reported: the first that fails is the headline. A check is
# a function of the evidence, decorated with @check(group) of grader.judge.check; its docstring's first line is the title that learners read. Replace
# the thresholds by measured ones (python -m grader dev calibrate LESSON) and write the margin beside each.
CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy,
    expect.accuracy(0.75),
)
'''

EXPLANATION = """# LESSON: why it happened

WRITE: the cause and its formula.

## Other good fixes

WRITE: each, and when it is the better one.

## Tempting, and wrong

WRITE: each, and what it costs.

## Where it bites

WRITE: in which real projects. Then a question to take along.
"""

RIGHT = """# right
# WRITE: one sentence, what this submission does and why it is right.
"""

WRONG = """# wrong: finishes
# WRITE: one sentence, what this submission does and why it is wrong; the first line names the check that must be the first to fail.
"""

SCRIPT = '''"""WRITE: one line, what this script trains."""

from pathlib import Path

import torch
from torch import nn
from torch.nn import functional
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

BATCH = 64
RATE = 0.05

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


def build_model():
    return nn.Sequential(
        nn.Conv2d(1, 8, kernel_size=5, stride=2),  # (B, 8, 12, 12)
        nn.ReLU(),
        nn.Flatten(),  # (B, 1152)
        nn.Linear(8 * 12 * 12, 10),  # (B, 10)
    )


def evaluate(model, loader, device):
    """Mean loss and accuracy (a fraction) over a loader."""
    model.eval()
    loss, right, count = 0.0, 0, 0
    with torch.no_grad():
        for images, labels in loader:  # (B, 1, 28, 28), (B,)
            logits = model(images.to(device))
            labels = labels.to(device)
            loss += functional.cross_entropy(logits, labels, reduction="sum").item()
            right += (logits.argmax(1) == labels).sum().item()
            count += len(labels)
    model.train()
    return loss / count, right / count


def main(data_dir, log_dir, device="cpu", epochs=1):
    train_loader = DataLoader(datasets.MNIST(data_dir, train=True, transform=eval_transform), batch_size=BATCH, shuffle=True)
    validation_loader = DataLoader(datasets.MNIST(data_dir, train=False, transform=eval_transform), batch_size=500)
    model = build_model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    step = 0
    with SummaryWriter(log_dir) as writer:
        for epoch in range(epochs):
            for images, labels in train_loader:
                loss = functional.cross_entropy(model(images.to(device)), labels.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                writer.add_scalar("Loss/train", loss.item(), step)
                step += 1
            validation_loss, accuracy = evaluate(model, validation_loader, device)
            writer.add_scalar("Loss/validation", validation_loss, epoch)
            writer.add_scalar("Accuracy/validation", accuracy, epoch)
            print(f"epoch {epoch + 1}: validation loss {validation_loss:.3f}, accuracy {accuracy:.3f}")
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    accelerator = "cuda" if torch.cuda.is_available() else "cpu"
    main(str(course / "datasets"), str(course / "runs" / "LESSON"), accelerator)
'''
