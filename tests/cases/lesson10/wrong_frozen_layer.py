# wrong: none_frozen
# The layer whose input is overwritten is frozen: it needs nothing for its gradient any more, and learns nothing.
"""Lesson 10: read a digit from top to bottom, two rows of pixels at a time, and keep a memory of what was read."""

from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets
from torchvision.transforms.functional import pil_to_tensor

BATCH_SIZE = 64
LEARNING_RATE = 0.004
MEMORY = 48
ROWS = 2  # read at a time
SMALL = 0.0001  # price of large weights in the output layer
LOG_EVERY = 5


def eval_transform(image):
    """PIL image -> (1, 28, 28), standardised."""
    return standardise(pil_to_tensor(image).float())


def standardise(pixels):
    """Bytes as floats, (..., 28, 28) -> mean 0 and standard deviation 1. Changes its argument, to save memory."""
    return pixels.div_(255).sub_(0.1307).div_(0.3081)


class Reader(nn.Module):
    """A gate decides, number by number, how far the memory moves towards what has just been read."""

    def __init__(self):
        super().__init__()
        self.look = nn.Linear(ROWS * 28, MEMORY)
        self.candidate = nn.Linear(MEMORY, MEMORY)
        self.gate = nn.Linear(MEMORY, MEMORY)
        self.output = nn.Linear(MEMORY, 10)
        self.candidate.requires_grad_(False)

    def forward(self, images):
        strips = images.reshape(-1, 28 // ROWS, ROWS * 28)  # (N, 1, 28, 28) -> (N, 14, 56)
        seen = self.look(strips).relu_()  # (N, 14, 48)
        memory = images.new_zeros(len(images), MEMORY)
        for strip in seen.unbind(dim=1):  # fourteen times (N, 48)
            candidate = self.candidate(memory)
            candidate += strip
            candidate.tanh_()
            change = candidate - memory
            change *= self.gate(strip).sigmoid_()
            memory += change
        return self.output(memory)  # (N, 10)


def load(data_dir, train, device):
    """The whole split as two tensors: images (N, 1, 28, 28) and labels (N,)."""
    split = datasets.MNIST(data_dir, train=train)
    return standardise(split.data[:, None].float()).to(device), split.targets.to(device)


def train_step(model, optimizer, images, labels):
    """One update of the weights. Returns the loss before it."""
    loss = F.cross_entropy(model(images), labels)
    loss += SMALL * model.output.weight.square().sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def validate(model, images, labels):
    """Loss and the fraction of right answers over a whole split."""
    model.eval()
    outputs = model(images)
    model.train()
    return F.cross_entropy(outputs, labels).item(), (outputs.argmax(dim=1) == labels).float().mean().item()


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train on MNIST(data_dir), log to log_dir, return the trained model."""
    images, labels = load(data_dir, train=True, device=device)
    validation_images, validation_labels = load(data_dir, train=False, device=device)
    model = Reader().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)

    step = 0
    with SummaryWriter(log_dir) as writer:
        for epoch in range(1, epochs + 1):
            for batch in torch.randperm(len(images), device=device).split(BATCH_SIZE):
                loss = train_step(model, optimizer, images[batch], labels[batch])
                if step % LOG_EVERY == 0:
                    writer.add_scalar("Loss/train", loss, step)
                step += 1
            validation_loss, accuracy = validate(model, validation_images, validation_labels)
            writer.add_scalar("Loss/validation", validation_loss, step)
            writer.add_scalar("Accuracy/validation", accuracy, step)
            print(f"epoch {epoch}: validation loss {validation_loss:.3f}, accuracy {accuracy:.3f}")
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson10"), "cuda" if torch.cuda.is_available() else "cpu")
