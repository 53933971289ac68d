# right
# Each image decides by a hash of its own pixels to which part it belongs; Bernoulli parts, early stopping by the validation loss.
"""Lesson 15: the part an image belongs to follows from the image."""

import zlib
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, SubsetRandomSampler
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


class Run:
    def __init__(self, data_dir, device):
        self.data_dir, self.device = data_dir, device
        digits = datasets.MNIST(data_dir, train=True, transform=eval_transform)
        fold = [zlib.crc32(image.numpy().tobytes()) % 6 for image in digits.data]
        parts = [[i for i, f in enumerate(fold) if (f == 0) is held] for held in (False, True)]
        self.fit_loader, self.check_loader = (DataLoader(digits, 64, sampler=SubsetRandomSampler(part)) for part in parts)
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(784, 96), nn.Tanh(), nn.Linear(96, 10)).to(device)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.1, momentum=0.5)
        self.steps = 0

    def epoch(self, log):
        for images, labels in self.fit_loader:
            loss = nn.functional.cross_entropy(self.net(images.to(self.device)), labels.to(self.device))
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            log.add_scalar("Loss/train", loss.item(), self.steps)
            self.steps += 1

    @torch.no_grad()
    def check(self, loader):
        loss, right, count = 0.0, 0, 0
        for images, labels in loader:
            scores, labels = self.net(images.to(self.device)), labels.to(self.device)
            loss += nn.functional.cross_entropy(scores, labels, reduction="sum").item()
            right += (scores.argmax(1) == labels).sum().item()
            count += len(labels)
        return loss / count, right / count


def main(data_dir, log_dir, device="cpu", epochs=4):
    run, best = Run(data_dir, device), float("inf")
    with SummaryWriter(log_dir) as log:
        for epoch in range(min(epochs, 4)):
            run.epoch(log)
            loss, accuracy = run.check(run.check_loader)
            log.add_scalar("Loss/validation", loss, epoch)
            log.add_scalar("Accuracy/validation", accuracy, epoch)
            if loss > best:
                break
            best = loss
        test = DataLoader(datasets.MNIST(data_dir, train=False, transform=eval_transform), 500)
        log.add_scalar("Accuracy/test", run.check(test)[1], 0)
    return run.net


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson15"))
