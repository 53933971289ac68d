# right
# LBFGS asks for the loss of the same batch several times before it moves on: each picture is still in one batch only.
"""Lesson 09: read digits that are cut out along the edges of their ink: python exercises/lesson09/train.py."""

from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets

INK = 60  # grey level, of 255, from which a pixel counts as ink
BATCH_SIZE = 500


def ink_box(pixels):
    """First and last + 1 row, first and last + 1 column with ink."""
    rows = np.flatnonzero((pixels >= INK).any(axis=1))
    columns = np.flatnonzero((pixels >= INK).any(axis=0))
    return rows[0], rows[-1] + 1, columns[0], columns[-1] + 1


def eval_transform(image):
    """PIL image, mode L -> float tensor (1, height, width), values from 0 to 1, without the empty margin."""
    pixels = np.asarray(image)
    top, bottom, left, right = ink_box(pixels)
    digit = pixels[top:bottom, left:right]
    frame = np.zeros_like(pixels)
    frame[: bottom - top, : right - left] = digit
    return torch.from_numpy(frame / np.float32(255)).unsqueeze(0)


class Scans(Dataset):
    """Pictures of digits, margin removed, with their labels."""

    def __init__(self, data_dir, train):
        self.source = datasets.MNIST(data_dir, train=train)

    def __len__(self):
        return len(self.source)

    def __getitem__(self, index):
        image, label = self.source[index]
        return eval_transform(image), label


class Reader(nn.Module):
    """Strided convolutions, a grid of 5 x 5 whatever the size of the picture, a linear layer."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(1, 12, kernel_size=3, stride=2, padding=1)
        self.second = nn.Conv2d(12, 24, kernel_size=3, padding=1)
        self.grid = nn.AdaptiveMaxPool2d(5)
        self.scores = nn.Linear(24 * 5 * 5, 10)

    def forward(self, x):
        x = self.first(x).relu()
        x = self.second(x).relu()
        return self.scores(self.grid(x).flatten(1))


def closure(model, optimizer, batch, labels):
    """The loss of one batch, with fresh gradients."""
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(batch), labels)
    loss.backward()
    return loss


def run_epoch(model, loader, device, optimizer=None, log=None):
    """Go through a loader once, training if there is an optimizer. Returns mean loss and accuracy."""
    criterion = nn.CrossEntropyLoss()
    model.train(optimizer is not None)
    total, right, count = 0.0, 0, 0
    for batch, labels in loader:
        batch, labels = batch.to(device), labels.to(device)
        if optimizer is not None:
            log(optimizer.step(lambda batch=batch, labels=labels: closure(model, optimizer, batch, labels)).item())
        with torch.no_grad():
            scores = model(batch)
            loss = criterion(scores, labels)
        total += loss.item() * len(labels)
        right += (scores.argmax(dim=1) == labels).sum().item()
        count += len(labels)
    return total / count, right / count


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train on MNIST, log to log_dir, return the model."""
    training = DataLoader(Scans(data_dir, train=True), BATCH_SIZE, shuffle=True)
    validation = DataLoader(Scans(data_dir, train=False), BATCH_SIZE)
    model = Reader().to(device)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.3, max_iter=4, history_size=10)
    writer = SummaryWriter(log_dir)
    steps = 0

    def log(loss):
        nonlocal steps
        writer.add_scalar("Loss/train", loss, steps)
        steps += 1

    for epoch in range(1, epochs + 1):
        run_epoch(model, training, device, optimizer, log)
        loss, accuracy = run_epoch(model, validation, device)
        writer.add_scalar("Loss/validation", loss, epoch)
        writer.add_scalar("Accuracy/validation", accuracy, epoch)
        print(f"epoch {epoch}: validation loss {loss:.3f}, accuracy {accuracy:.3f}")
    writer.close()
    return model


if __name__ == "__main__":
    COURSE = Path(__file__).resolve().parents[2]
    torch.manual_seed(0)
    main(str(COURSE / "datasets"), str(COURSE / "runs" / "lesson09"), device="cuda" if torch.cuda.is_available() else "cpu")
