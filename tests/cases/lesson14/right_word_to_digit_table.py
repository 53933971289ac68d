# right
# A dictionary from word to digit, written down once for both splits; bare weights, momentum by hand, gradients from autograd.grad.
from pathlib import Path

import torch
from torch.nn import functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision import transforms
from torchvision.datasets import MNIST

DIGIT = {"zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9}

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])


def read(folder, train):
    """Images (N, 1, 28, 28) and digits (N,)."""
    split = MNIST(folder, train=train)
    words = [split.classes[t].split(" - ")[1] for t in split.targets]
    return split.data[:, None] / 127.5 - 1, torch.tensor([DIGIT[w] for w in words])


class Net(torch.nn.Module):
    """A kernel and a matrix."""

    def __init__(self):
        super().__init__()
        self.kernel = torch.nn.Parameter(torch.randn(8, 1, 5, 5) * 0.2)
        self.matrix = torch.nn.Parameter(torch.randn(8 * 12 * 12, 10) * 0.03)

    def forward(self, x):
        return F.relu(F.conv2d(x, self.kernel, stride=2)).flatten(1) @ self.matrix


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train, validate, log."""
    (x, y), (u, v) = read(data_dir, True), read(data_dir, False)
    net = Net().to(device)
    weights = list(net.parameters())
    speed = [torch.zeros_like(w) for w in weights]
    writer, step = SummaryWriter(log_dir), 0
    for _ in range(epochs):
        order = torch.randperm(len(x))
        for i in range(0, len(x), 40):
            some = order[i : i + 40]
            loss = F.nll_loss(F.log_softmax(net(x[some].to(device)), 1), y[some].to(device))
            for w, s, g in zip(weights, speed, torch.autograd.grad(loss, weights)):
                s.mul_(0.9).add_(g)
                w.data.sub_(0.01 * s)
            writer.add_scalar("Loss/train", loss.item(), step)
            step += 1
        with torch.no_grad():
            scores = torch.cat([net(part.to(device)).cpu() for part in u.split(500)])
        writer.add_scalar("Loss/validation", F.cross_entropy(scores, v).item(), step)
        writer.add_scalar("Accuracy/validation", (scores.argmax(1) == v).float().mean().item(), step)
    writer.close()
    return net


if __name__ == "__main__":
    main(str(Path(__file__).resolve().parents[2] / "datasets"), "runs/lesson14")
