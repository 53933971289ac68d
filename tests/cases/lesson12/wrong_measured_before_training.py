# wrong: every_epoch
# The counters are right, but each epoch is measured before its training: every point is one epoch late, and the last epoch has none.
"""Lesson 12: a small convolutional network, three epochs, and meters that say how well it does."""

import logging
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

BATCH_SIZE = 64
LEARNING_RATE = 0.001

log = logging.getLogger("digits")
eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


class Meter:
    """The running mean of a number that comes batch by batch."""

    def __init__(self, name):
        self.name = name
        self.reset()

    def reset(self):
        """Forget everything."""
        self.total, self.count = 0.0, 0

    def update(self, value, size):
        """Add a batch of `size` samples whose mean is `value`."""
        self.total += float(value) * size
        self.count += size
        log.debug("%s: %.4f over %d samples, %d samples so far", self.name, value, size, self.count)

    @property
    def mean(self):
        """The mean over all samples."""
        return self.total / self.count


def prepare(data_dir, train):
    """One split of MNIST, every image transformed once."""
    split = datasets.MNIST(data_dir, train=train, transform=eval_transform)
    return TensorDataset(torch.stack([image for image, _ in split]), split.targets)  # (N, 1, 28, 28), (N,)


def build_model():
    """Images (B, 1, 28, 28) -> logits (B, 10)."""
    return nn.Sequential(
        nn.Conv2d(1, 8, kernel_size=5, stride=2),  # (B, 8, 12, 12)
        nn.ReLU(),
        nn.Conv2d(8, 16, kernel_size=5, stride=2),  # (B, 16, 4, 4)
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * 4 * 4, 10),
    )


def accuracy(logits, labels):
    """The fraction of the batch in which the largest of the ten logits (B, 10) is the label's (B,)."""
    guess = logits.argmax(dim=1)
    hits = guess.eq(labels)
    return hits.float().mean()


def train(model, loader, criterion, optimizer, writer, step, device):
    """One pass over the training images. Returns the number of steps taken so far."""
    model.train()
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        writer.add_scalar("Loss/train", loss.item(), step)
        step += 1
    return step


@torch.no_grad()
def validate(model, loader, criterion, meters, device):
    """Send the validation images through the model and the results to the meters."""
    model.eval()
    for meter in meters.values():
        meter.reset()
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        logits = model(images)
        meters["Loss"].update(criterion(logits, labels), len(labels))
        meters["Accuracy"].update(accuracy(logits, labels), len(labels))


def main(data_dir, log_dir, device="cpu", epochs=3):
    """Train on MNIST, validate after each epoch, log to log_dir, return the model."""
    train_loader = DataLoader(prepare(data_dir, train=True), batch_size=BATCH_SIZE, shuffle=True)
    valid_loader = DataLoader(prepare(data_dir, train=False), batch_size=300)
    model = build_model().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    meters = {name: Meter(name) for name in ("Loss", "Accuracy")}

    step = 0
    with SummaryWriter(log_dir) as writer:
        for epoch in range(1, epochs + 1):
            validate(model, valid_loader, criterion, meters, device)
            for name, meter in meters.items():
                writer.add_scalar(f"{name}/validation", meter.mean, epoch)
            step = train(model, train_loader, criterion, optimizer, writer, step, device)
            log.info("epoch %d: validation loss %.3f, accuracy %.3f", epoch, meters["Loss"].mean, meters["Accuracy"].mean)
    return model


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson12"), device="cuda" if torch.cuda.is_available() else "cpu")
