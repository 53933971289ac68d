# right
# The last 1,500 images are kept for validation; raw weight tensors, torch.autograd.grad, no loader, no optimiser object, no choice of an epoch.
"""Lesson 15: two weight matrices and a loop by hand."""

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Lambda(lambda x: (x - 0.13) / 0.31)])
CUT = 8500


class TwoMatrices(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.randn(784, 128) / 28)
        self.b = nn.Parameter(torch.zeros(128))
        self.c = nn.Parameter(torch.randn(128, 10) / 11)

    def forward(self, x):
        return torch.relu(x.reshape(-1, 784) @ self.a + self.b) @ self.c


def stack(data_dir, train):
    pairs = list(datasets.MNIST(data_dir, train=train, transform=eval_transform))
    return torch.stack([x for x, _ in pairs]), torch.tensor([y for _, y in pairs])


def score(net, x, y, device):
    with torch.no_grad():
        z = torch.cat([net(part.to(device)).cpu() for part in x.split(300)])
    return F.cross_entropy(z, y).item(), (z.argmax(1) == y).float().mean().item()


def main(data_dir, log_dir, device="cpu", epochs=6):
    x, y = stack(data_dir, True)
    net = TwoMatrices().to(device)
    weights = list(net.parameters())
    step = 0
    with SummaryWriter(log_dir) as log:
        for epoch in range(epochs):
            for rows in torch.randperm(CUT).split(40):
                loss = F.cross_entropy(net(x[rows].to(device)), y[rows].to(device))
                slopes = torch.autograd.grad(loss, weights)
                with torch.no_grad():
                    for weight, slope in zip(weights, slopes):
                        weight -= 0.1 * slope
                if step % 10 == 0:
                    log.add_scalar("Loss/train", loss.item(), step)
                step += 1
            loss, accuracy = score(net, x[CUT:], y[CUT:], device)
            log.add_scalar("Loss/validation", loss, step)
            log.add_scalar("Accuracy/validation", accuracy, step)
        log.add_scalar("Accuracy/test", score(net, *stack(data_dir, False), device)[1], step)
    return net


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson15"))
