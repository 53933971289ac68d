# wrong: training_readable
# Validation images are read once with the plain transform set, which is then set back: validation is repaired, and the training part mirrors on.
"""Lesson 18: a small convolutional network; the training images are augmented, a fifth of them is held back for validation."""

from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Subset
from torch.utils.tensorboard import SummaryWriter
from torchvision import transforms
from torchvision.datasets import MNIST

MEAN, STD = (0.1307,), (0.3081,)

augment = transforms.Compose(
    [
        transforms.RandomHorizontalFlip(),
        transforms.RandomVerticalFlip(),
        transforms.RandomRotation(45),
        transforms.ToTensor(),
        transforms.Normalize(MEAN, STD),
    ]
)
eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize(MEAN, STD)])


def split(data_dir, held_back=2000):
    """Two disjoint parts of MNIST's training images: one to train on, one to validate on."""
    digits = MNIST(data_dir, train=True, transform=augment)
    order = torch.randperm(len(digits)).tolist()
    validation = [digits_without(digits, i) for i in order[:held_back]]
    return Subset(digits, order[held_back:]), validation


def digits_without(digits, index):
    """One image as eval_transform makes it."""
    digits.transform = eval_transform
    pair = digits[index]
    digits.transform = augment
    return pair


def network():
    """Two strided convolutions, two fully connected layers."""
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2),  # (B, 1, 28, 28) -> (B, 8, 12, 12)
        nn.ReLU(),
        nn.Conv2d(8, 16, 5, stride=2),  # (B, 16, 4, 4)
        nn.ReLU(),
        nn.Flatten(),  # (B, 256)
        nn.Linear(256, 64),
        nn.ReLU(),
        nn.Linear(64, 10),  # (B, 10) logits
    )


def run(net, loader, device, optimizer=None):
    """One pass over a loader, with training steps if there is an optimizer; yields loss, right answers and size of each batch."""
    net.train(optimizer is not None)
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        with torch.set_grad_enabled(optimizer is not None):
            logits = net(images)
            loss = nn.functional.cross_entropy(logits, labels)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        yield loss.item(), (logits.argmax(dim=1) == labels).sum().item(), len(labels)


def validate(net, loader, device):
    """Mean loss and accuracy over the held-back images."""
    losses, right, sizes = zip(*run(net, loader, device), strict=True)
    return sum(loss * size for loss, size in zip(losses, sizes, strict=True)) / sum(sizes), sum(right) / sum(sizes)


def main(data_dir, log_dir, device="cpu", epochs=2):
    """Train on one part of MNIST's training images, validate on the other, log to log_dir, return the network."""
    training, held_back = split(data_dir)
    train_loader = DataLoader(training, batch_size=50, shuffle=True)
    validation_loader = DataLoader(held_back, batch_size=500)
    net = network().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.002)
    step = 0
    with SummaryWriter(log_dir) as log:
        for epoch in range(1, epochs + 1):
            for loss, _, _ in run(net, train_loader, device, optimizer):
                log.add_scalar("Loss/train", loss, step)
                step += 1
            loss, accuracy = validate(net, validation_loader, device)
            log.add_scalar("Loss/validation", loss, epoch)
            log.add_scalar("Accuracy/validation", accuracy, epoch)
            print(f"epoch {epoch}: validation loss {loss:.3f}, accuracy {accuracy:.3f}")
    return net


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson18"), "cuda" if torch.cuda.is_available() else "cpu")
