# right
# Validates every 60 steps in the middle of the epoch, and the function that does so restores the mode it found; dropout of 0.1.
"""Lesson 17: a convolutional network with batch norm and dropout; after each epoch some answers are written to the log as a picture."""

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

COURSE = Path(__file__).resolve().parents[2]
BATCH = 64

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


def block(inputs, outputs):
    """Convolution that halves height and width, batch norm, ReLU."""
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU())


class Net(nn.Module):
    """Two blocks and two fully connected layers."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(block(1, 8), block(8, 16))  # (B, 1, 28, 28) -> (B, 16, 7, 7)
        self.drop = nn.Dropout(0.1)
        self.hidden = nn.Linear(16 * 7 * 7, 64)
        self.scores = nn.Linear(64, 10)

    def forward(self, images):
        x = self.drop(self.features(images).flatten(1))  # (B, 784)
        x = self.drop(F.relu(self.hidden(x)))  # (B, 64)
        return self.scores(x)  # (B, 10)


def read(data_dir, train):
    """One of MNIST's two files as tensors: images (N, 1, 28, 28) and labels (N,)."""
    images, labels = zip(*datasets.MNIST(data_dir, train=train, transform=eval_transform), strict=True)
    return torch.stack(images), torch.tensor(labels)


def validate(net, images, labels, device):
    """Mean loss and accuracy."""
    before = net.training
    net.eval()
    loss, right = 0.0, 0
    with torch.no_grad():
        for batch, truth in zip(images.split(250), labels.to(device).split(250), strict=True):
            logits = net(batch.to(device))
            loss += F.cross_entropy(logits, truth, reduction="sum").item()
            right += (logits.argmax(1) == truth).sum().item()
    net.train(before)
    return loss / len(labels), right / len(labels)


def answers(net, images, device):
    """A picture of some digits side by side, and the net's answer to each."""
    before = net.training
    net.eval()
    with torch.no_grad():
        digits = net(images.to(device)).argmax(1).tolist()
    net.train(before)
    strip = torch.cat([*images], dim=2)  # (1, 28, 28 * B)
    return (strip - strip.min()) / (strip.max() - strip.min()), "".join(map(str, digits))


def main(data_dir, log_dir, device="cpu", epochs=3):
    """Train on MNIST, validate after each epoch, log to log_dir, return the net."""
    images, labels = read(data_dir, train=True)
    held_out, truth = read(data_dir, train=False)
    net = Net().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.002)
    writer = SummaryWriter(log_dir)
    net.train()
    step = 0
    for epoch in range(epochs):
        total = 0.0
        for rows in torch.randperm(len(images)).split(BATCH):
            loss = F.cross_entropy(net(images[rows].to(device)), labels[rows].to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            writer.add_scalar("Loss/train", loss.item(), step)
            total += loss.item() * len(rows)
            step += 1
            if step % 60 == 0:
                writer.add_scalar("Accuracy/between", validate(net, held_out[:500], truth[:500], device)[1], step)
        loss, accuracy = validate(net, held_out, truth, device)
        strip, digits = answers(net, held_out[:10], device)
        writer.add_scalar("Loss/validation", loss, epoch)
        writer.add_scalar("Accuracy/validation", accuracy, epoch)
        writer.add_image("Answers", strip, epoch)
        writer.add_text("Answers", digits, epoch)
        print(f"epoch {epoch + 1}: training loss {total / len(images):.3f}, validation loss {loss:.3f}, accuracy {accuracy:.3f}, answers {digits}")
    writer.close()
    return net


if __name__ == "__main__":
    torch.manual_seed(0)
    main(str(COURSE / "datasets"), str(COURSE / "runs" / "lesson17"), "cuda" if torch.cuda.is_available() else "cpu")
