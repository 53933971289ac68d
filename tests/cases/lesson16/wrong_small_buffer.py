# wrong: mixed
# A shuffle buffer of 500 images over a sorted stream: neighbours change places, and never meet another digit but the next.
"""Lesson 16: a network of two layers, its images gathered digit by digit, as from ten folders, and cut into batches by hand."""

from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

BATCH = 40
LEARNING_RATE = 0.1

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


def read_folders(data_dir, train):
    """Images (N, 1, 28, 28) and labels (N,) of one split, with a line that says how many there are of each digit."""
    split = datasets.MNIST(data_dir, train=train, transform=eval_transform)
    images, labels, counts = [], [], []
    for digit in range(10):
        members = (split.targets == digit).nonzero().flatten().tolist()  # what lies in the folder of this digit
        images += [split[i][0] for i in members]
        labels += [digit] * len(members)
        counts.append(len(members))
    print("training" if train else "validation", "images a digit:", *counts)
    return torch.stack(images), torch.tensor(labels)


def batches(images, labels, size):
    """Cut a split into batches: images (size, 1, 28, 28) and labels (size,), the last one as small as it comes."""
    buffer, drawn = [], []
    for i in list(range(len(labels))) + [None] * 500:
        if i is not None:
            buffer.append(i)
        if buffer and (len(buffer) > 500 or i is None):
            drawn.append(buffer.pop(int(torch.randint(len(buffer), (1,)))))
    for part in torch.tensor(drawn).split(size):
        yield images[part], labels[part]


class TwoLayers(nn.Module):
    """784 pixels -> 64 -> 10 logits."""

    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(28 * 28, 64)
        self.outer = nn.Linear(64, 10)

    def forward(self, x):
        return self.outer(F.relu(self.inner(x.flatten(1))))  # (B, 1, 28, 28) -> (B, 10)


class Log:
    """A SummaryWriter that counts the steps itself."""

    def __init__(self, log_dir):
        self.writer, self.step = SummaryWriter(log_dir), 0

    def train(self, loss):
        self.writer.add_scalar("Loss/train", loss, self.step)
        self.step += 1

    def validation(self, loss, accuracy):
        self.writer.add_scalar("Loss/validation", loss, self.step)
        self.writer.add_scalar("Accuracy/validation", accuracy, self.step)


@torch.no_grad()
def validate(model, images, labels):
    """Loss and accuracy (a fraction) over a whole split."""
    model.eval()
    logits = model(images)
    model.train()
    return F.cross_entropy(logits, labels).item(), (logits.argmax(dim=1) == labels).float().mean().item()


def main(data_dir, log_dir, device="cpu", epochs=2):
    """Train on MNIST(data_dir), validate after each epoch, log to log_dir, return the model."""
    train_images, train_labels = (t.to(device) for t in read_folders(data_dir, train=True))
    test_images, test_labels = (t.to(device) for t in read_folders(data_dir, train=False))
    model = TwoLayers().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    log = Log(log_dir)
    for epoch in range(1, epochs + 1):
        total = 0.0
        for images, labels in batches(train_images, train_labels, BATCH):
            loss = F.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            log.train(loss.item())
            total += loss.item() * len(labels) / len(train_labels)
        validation_loss, accuracy = validate(model, test_images, test_labels)
        log.validation(validation_loss, accuracy)
        print(f"epoch {epoch}: training loss {total:.3f}, validation loss {validation_loss:.3f}, validation accuracy {accuracy:.3f}")
    log.writer.close()
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson16"), device="cuda" if torch.cuda.is_available() else "cpu")
