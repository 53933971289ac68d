# right
# A rewrite: tensors instead of a loader, weights without layers, the cross-entropy from logsigmoid, torch.autograd.grad and momentum by hand.
"""Sevens, the hard way."""

from pathlib import Path

import torch
import torch.nn.functional as F
from tensorboardX import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms.v2 import Compose, Normalize, ToDtype, ToImage

eval_transform = Compose([ToImage(), ToDtype(torch.float32, scale=True), Normalize([0.1307], [0.3081])])


class Detector(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Parameter(torch.randn(784, 64) / 28)
        self.second = torch.nn.Parameter(torch.randn(64) / 8)
        self.offset = torch.nn.Parameter(torch.tensor(-2.0))

    def forward(self, x):
        return F.gelu(x.flatten(1) @ self.first) @ self.second + self.offset  # (N,)


def surprise(z, t):
    return -(t * F.logsigmoid(z) + (1 - t) * F.logsigmoid(-z)).sum() / len(t)


def main(data_dir, log_dir, device="cpu", epochs=1):
    data = {}
    for part in (True, False):
        digits = MNIST(data_dir, train=part)
        data[part] = ((digits.data[:, None].float() / 255 - 0.1307) / 0.3081).to(device), (digits.targets == 7).float().to(device)
    net = Detector().to(device)
    weights, speed = list(net.parameters()), [torch.zeros_like(w) for w in net.parameters()]
    log, n = SummaryWriter(log_dir), 0
    for epoch in range(epochs):
        for rows in torch.randperm(len(data[True][0])).split(32):
            value = surprise(net(data[True][0][rows]), data[True][1][rows])
            with torch.no_grad():
                for w, v, g in zip(weights, speed, torch.autograd.grad(value, weights), strict=True):
                    w -= 0.02 * v.mul_(0.9).add_(g)
            log.add_scalar("Loss/train", value.item(), n)
            n += 1
        with torch.no_grad():
            z, t = net(data[False][0]), data[False][1]
        log.add_scalar("Loss/validation", surprise(z, t).item(), epoch)
        log.add_scalar("Accuracy/validation", ((z[t == 1] > 0).float().mean() + (z[t == 0] <= 0).float().mean()).item() / 2, epoch)
    log.close()
    return net


if __name__ == "__main__":
    torch.manual_seed(0)
    root = Path(__file__).resolve().parents[2]
    main(str(root / "datasets"), str(root / "runs" / "lesson19"))
