"""Lesson 07: an all-convolutional digit reader and a predict function for single pictures: python exercises/lesson07/train.py."""

from itertools import pairwise
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

WIDTHS = (1, 12, 24)  # picture, first maps, second maps
CLASSES = 10
RATE = 0.002

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.1307, 0.3081)])


def build_net(widths=WIDTHS, classes=CLASSES):
    """Strided 5 x 5 convolutions, then one convolution as large as the map that is left: its channels are the scores."""
    layers = []
    for before, after in pairwise(widths):
        layers += [nn.Conv2d(before, after, kernel_size=5, stride=2), nn.ReLU()]  # 28 -> 12 -> 4
    layers += [nn.Conv2d(widths[-1], classes, kernel_size=4), nn.Flatten()]  # 4 -> 1, then the scores alone
    return nn.Sequential(*layers)


def loaders(data_dir):
    """Training and validation batches."""
    training = datasets.MNIST(data_dir, train=True, transform=eval_transform)
    validation = datasets.MNIST(data_dir, train=False, transform=eval_transform)
    return DataLoader(training, batch_size=64, shuffle=True), DataLoader(validation, batch_size=250)


def predict(model, image):
    """The digit that the model sees in one picture (a PIL image, mode L, 28 x 28)."""
    device = next(model.parameters()).device
    model.eval()
    with torch.no_grad():
        scores = model(eval_transform(image).unsqueeze(0).to(device))
    return scores.argmax(dim=1)[0].item()


@torch.no_grad()
def score(net, batches, device):
    """Mean loss and accuracy (a fraction) over all batches."""
    net.eval()
    loss, right, count = 0.0, 0, 0
    for pictures, digits in batches:
        pictures, digits = pictures.to(device), digits.to(device)
        scores = net(pictures)
        loss += F.cross_entropy(scores, digits, reduction="sum").item()
        right += (scores.argmax(dim=1) == digits).sum().item()
        count += len(digits)
    return loss / count, right / count


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train on MNIST, validate after each epoch, log to log_dir, return the net."""
    training, validation = loaders(data_dir)
    net = build_net().to(device)
    optimizer = optim.Adam(net.parameters(), lr=RATE)

    with SummaryWriter(log_dir) as writer:
        for epoch in range(epochs):
            net.train()
            for step, (pictures, digits) in enumerate(training, start=epoch * len(training)):
                loss = F.cross_entropy(net(pictures.to(device)), digits.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                writer.add_scalar("Loss/train", loss.item(), step)
            loss, accuracy = score(net, validation, device)
            writer.add_scalar("Loss/validation", loss, epoch)
            writer.add_scalar("Accuracy/validation", accuracy, epoch)
            print(f"epoch {epoch}: validation loss {loss:.3f}, accuracy {accuracy:.3f}")
    return net


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    net = main(str(course / "datasets"), str(course / "runs" / "lesson07"), "cuda" if torch.cuda.is_available() else "cpu")
    pictures = datasets.MNIST(str(course / "datasets"), train=False)
    for picture, digit in (pictures[i] for i in range(8)):
        print(f"picture of a {digit}: the net reads {predict(net, picture)}")
