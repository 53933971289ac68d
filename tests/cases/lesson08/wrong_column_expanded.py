# wrong: loss_input or labels_true
# The column is expanded to ten equal columns: a float target of the outputs' own shape is taken for class probabilities, and nobody complains.
"""Lesson 08: digits from one big table, a row a picture, and a small network on them: python exercises/lesson08/train.py."""

import logging
import os
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

BATCH = 33
RATE = 0.05

log = logging.getLogger("digits")
eval_transform = transforms.ToTensor()  # PIL image -> (1, 28, 28), values from 0 to 1


def as_table(dataset):
    """One row a picture, as in the CSV files that go round: the digit, then its 784 pixels from 0 to 255. (N, 785)"""
    return np.column_stack([dataset.targets.numpy(), dataset.data.flatten(1).numpy()]).astype(np.float32)


class Digits:
    """A table on the device, handed out in batches."""

    def __init__(self, table, device):
        table = torch.from_numpy(table).to(device)
        self.labels, pixels = table[:, :1], table[:, 1:]
        self.images = pixels.div(255).reshape(-1, 1, 28, 28)

    def __len__(self):
        return len(self.images)

    def batches(self, size, shuffle=False):
        """Yield (images, labels) until every row has been used once."""
        order = torch.randperm(len(self)) if shuffle else torch.arange(len(self))
        for rows in order.to(self.images.device).split(size):
            yield self.images[rows], self.labels[rows]


def describe(name, tensor):
    """Shape, type and range of a tensor, in one line of the log."""
    if log.isEnabledFor(logging.DEBUG):  # the smallest and the largest value cost time
        log.debug("%s: %s %s, %.3g to %.3g", name, tuple(tensor.shape), tensor.dtype, tensor.min().item(), tensor.max().item())


def network():
    """Two layers on the flattened picture."""
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))


def validate(model, digits, criterion):
    """Mean loss and the share of right answers."""
    losses, hits = 0.0, 0
    model.eval()
    with torch.no_grad():
        for images, labels in digits.batches(500):
            outputs = model(images)
            losses += criterion(outputs, labels.expand(-1, 10)).item() * len(images)
            hits += (outputs.argmax(dim=1) == labels.squeeze(1)).sum().item()
    model.train()
    return losses / len(digits), hits / len(digits)


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train on MNIST, log to log_dir and return the trained network."""
    training = Digits(as_table(datasets.MNIST(data_dir, train=True)), device)
    held_back = Digits(as_table(datasets.MNIST(data_dir, train=False)), device)
    log.info("%d pictures to learn from, %d to check with", len(training), len(held_back))

    model = network().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE, momentum=0.9)
    writer = SummaryWriter(log_dir)
    step = 0
    for epoch in range(epochs):
        for images, labels in training.batches(BATCH, shuffle=True):
            describe("images", images)
            outputs = model(images)
            describe("outputs", outputs)
            loss = criterion(outputs, labels.expand(-1, 10))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            writer.add_scalar("Loss/train", loss.item(), step)
            step += 1
        mean_loss, accuracy = validate(model, held_back, criterion)
        writer.add_scalar("Loss/validation", mean_loss, epoch)
        writer.add_scalar("Accuracy/validation", accuracy, epoch)
        print(f"epoch {epoch}: validation loss {mean_loss:.3f}, accuracy {accuracy:.3f}")
    writer.close()
    return model


if __name__ == "__main__":
    logging.basicConfig(level=os.environ.get("LOG", "WARNING"), format="%(levelname)s %(name)s %(message)s")
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson08"), "cuda" if torch.cuda.is_available() else "cpu")
