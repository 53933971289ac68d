# right
# The model carries the statistics as buffers and normalises for itself; outside it there is only ToTensor.
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms import ToTensor

eval_transform = ToTensor()


class Standardise(nn.Module):
    """(x - mean) / deviation, with numbers that travel with the weights."""

    def __init__(self, pixels):
        super().__init__()
        self.register_buffer("mean", pixels.mean())
        self.register_buffer("deviation", pixels.std())

    def forward(self, x):
        return (x - self.mean) / self.deviation


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train a net that expects plain ToTensor images."""
    digits = MNIST(data_dir, train=True, transform=eval_transform)
    others = DataLoader(MNIST(data_dir, train=False, transform=eval_transform), batch_size=100)
    net = nn.Sequential(
        Standardise(digits.data / 255),
        nn.Conv2d(1, 6, 5, padding=2),  # (B, 6, 28, 28)
        nn.MaxPool2d(4),  # (B, 6, 7, 7)
        nn.Tanh(),
        nn.Flatten(),
        nn.Linear(6 * 7 * 7, 10),
        nn.LogSoftmax(dim=1),
    ).to(device)
    rule = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    with SummaryWriter(log_dir) as log:
        step = 0
        for _ in range(epochs):
            for x, y in DataLoader(digits, batch_size=64, shuffle=True):
                loss = nn.functional.nll_loss(net(x.to(device)), y.to(device))
                rule.zero_grad()
                loss.backward()
                rule.step()
                log.add_scalar("Loss/train", loss.item(), step)
                step += 1
            with torch.no_grad():
                results = [(net(x.to(device)).cpu(), y) for x, y in others]
            out, truth = torch.cat([o for o, _ in results]), torch.cat([t for _, t in results])
            log.add_scalar("Loss/validation", nn.functional.nll_loss(out, truth).item(), step)
            log.add_scalar("Accuracy/validation", (out.argmax(1) == truth).float().mean().item(), step)
            print(f"step {step}: {(out.argmax(1) == truth).float().mean().item():.3f}")
    return net


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson06"), epochs=2)
