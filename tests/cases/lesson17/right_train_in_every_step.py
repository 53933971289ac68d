# right
# Written anew: a class with fit and check, train() before each single step, a perceptron with BatchNorm1d and dropout, loaders, SGD by hand.
"""Lesson 17: a perceptron that is told its mode before each call."""

from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms import Compose, Normalize, ToTensor

eval_transform = Compose([ToTensor(), Normalize(0.1307, 0.3081)])


class Learner:
    def __init__(self, device):
        self.device = device
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(784, 120), nn.BatchNorm1d(120), nn.LeakyReLU(), nn.Dropout(0.2), nn.Linear(120, 10)).to(
            device
        )
        self.cross_entropy = nn.CrossEntropyLoss()

    def fit(self, pictures, digits, rate=0.2):
        self.body.train()
        loss = self.cross_entropy(self.body(pictures.to(self.device)), digits.to(self.device))
        for weight, slope in zip(self.body.parameters(), torch.autograd.grad(loss, list(self.body.parameters()))):
            weight.data.add_(slope, alpha=-rate)
        return loss.item()

    def check(self, loader):
        self.body.eval()
        losses, hits, count = 0.0, 0, 0
        for pictures, digits in loader:
            with torch.no_grad():
                scores = self.body(pictures.to(self.device)).cpu()
            losses += self.cross_entropy(scores, digits).item() * len(digits)
            hits += int((scores.argmax(1) == digits).sum())
            count += len(digits)
        return losses / count, hits / count


def main(data_dir, log_dir, device="cpu", epochs=2):
    learner, step = Learner(device), 0
    training = DataLoader(MNIST(data_dir, train=True, transform=eval_transform), 100, shuffle=True)
    validation = DataLoader(MNIST(data_dir, train=False, transform=eval_transform), 200)
    log = SummaryWriter(log_dir)
    for epoch in range(min(epochs, 2)):
        for batch in training:
            log.add_scalar("Loss/train", learner.fit(*batch), step)
            step += 1
        loss, accuracy = learner.check(validation)
        log.add_scalar("Loss/validation", loss, step)
        log.add_scalar("Accuracy/validation", accuracy, step)
    log.close()
    return learner.body


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson17"))
