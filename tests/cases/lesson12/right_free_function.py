# right
# Training and validation call a plain function of a dictionary of weights; a module is only made of them at the end.
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms.functional import to_tensor

eval_transform = to_tensor


def scores(weights, x):
    hidden = torch.tanh(x.flatten(1) @ weights["a"] + weights["b"])
    return hidden @ weights["c"] + weights["d"]


class Wrapped(nn.Module):
    def __init__(self, weights):
        super().__init__()
        self.weights = nn.ParameterDict(weights)

    def forward(self, x):
        return scores(self.weights, x)


def main(data_dir, log_dir, device="cpu", epochs=3):
    train, valid = MNIST(data_dir, train=True), MNIST(data_dir, train=False)
    x, vx = (s.data.to(device)[:, None] / 255 for s in (train, valid))
    y, vy = train.targets.to(device), valid.targets.to(device)
    shapes = {"a": (784, 40), "b": (40,), "c": (40, 10), "d": (10,)}
    weights = {k: nn.Parameter((torch.randn(s) / s[0] ** 0.5 if len(s) > 1 else torch.zeros(s)).to(device)) for k, s in shapes.items()}
    rule = torch.optim.SGD(weights.values(), lr=0.1, momentum=0.9)
    with SummaryWriter(log_dir) as log:
        step = 0
        for _ in range(epochs):
            for pick in torch.randperm(len(x), device=device).split(64):
                loss = F.cross_entropy(scores(weights, x[pick]), y[pick])
                rule.zero_grad()
                loss.backward()
                rule.step()
                log.add_scalar("Loss/train", loss.item(), step)
                step += 1
            cost, hits = 0.0, 0
            with torch.no_grad():
                for a, b in zip(vx.split(700), vy.split(700), strict=True):
                    z = scores(weights, a)
                    cost += F.cross_entropy(z, b, reduction="sum").item()
                    hits += int((z.argmax(dim=-1) == b).sum())
            log.add_scalar("Loss/validation", cost / len(vx), step)
            log.add_scalar("Accuracy/validation", hits / len(vx), step)
    return Wrapped(weights)


if __name__ == "__main__":
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson12"))
