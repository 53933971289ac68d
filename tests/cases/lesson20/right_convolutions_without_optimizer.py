# right
# A rewrite: convolutions, scores minus their logsumexp, torch.autograd.grad and momentum by hand; no loss module, optimiser or DataLoader.
"""A small convolutional classifier, all by hand."""

from pathlib import Path

import torch
import torch.nn.functional as F
from tensorboardX import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms.v2 import Compose, Normalize, ToDtype, ToImage

eval_transform = Compose([ToImage(), ToDtype(torch.float32, scale=True), Normalize([0.1307], [0.3081])])


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(0.2 * torch.randn(8, 1, 5, 5))
        self.b = torch.nn.Parameter(0.07 * torch.randn(16, 8, 5, 5))
        self.c = torch.nn.Parameter(0.06 * torch.randn(10, 256))

    def forward(self, x):
        x = F.relu(F.conv2d(x, self.a, stride=2))
        x = F.relu(F.conv2d(x, self.b, stride=2))
        return F.linear(x.flatten(1), self.c)


def loss(logits, targets):
    return torch.mean(logits.logsumexp(1) - logits[torch.arange(logits.shape[0]), targets])


def main(data_dir, log_dir, device="cpu", epochs=1):
    sets = [MNIST(data_dir, train=part) for part in (True, False)]
    pixels = [((s.data.float() / 255 - 0.1307) / 0.3081).unsqueeze(1).to(device) for s in sets]
    answers = [s.targets.to(device) for s in sets]
    net = Net().to(device)
    weights = list(net.parameters())
    speed = [torch.zeros_like(w) for w in weights]
    log = SummaryWriter(log_dir)
    n = 0
    for epoch in range(epochs):
        order = torch.randperm(len(pixels[0]))
        for start in range(0, len(order), 40):
            rows = order[start : start + 40]
            contrast = torch.exp(torch.randn(len(rows), 1, 1, 1, device=device))
            value = loss(net(contrast * pixels[0][rows]), answers[0][rows])
            slopes = torch.autograd.grad(value, weights)
            with torch.no_grad():
                for w, v, g in zip(weights, speed, slopes, strict=True):
                    v.mul_(0.9).add_(g)
                    w.sub_(0.005 * v)
            log.add_scalar("Loss/train", value.item(), n)
            n += 1
        with torch.no_grad():
            z = net(pixels[1])
        log.add_scalar("Loss/validation", loss(z, answers[1]).item(), epoch)
        log.add_scalar("Accuracy/validation", (z.argmax(1) == answers[1]).float().mean().item(), epoch)
    log.close()
    return net


if __name__ == "__main__":
    torch.manual_seed(0)
    root = Path(__file__).resolve().parents[2]
    main(str(root / "datasets"), str(root / "runs" / "lesson20"))
