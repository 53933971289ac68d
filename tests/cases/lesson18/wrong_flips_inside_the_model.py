# wrong: training_readable
# The flips have moved into the forward pass, in training mode: the network still learns mirrored digits.
"""Lesson 18: The flips have moved into the forward pass, in training mode."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


def read(data_dir, train):
    mnist = datasets.MNIST(data_dir, train=train)
    return (mnist.data.unsqueeze(1).float() / 255 - 0.1307) / 0.3081, mnist.targets


def network():
    return nn.Sequential(
        nn.Conv2d(1, 8, 5, stride=2),
        nn.ReLU(),
        nn.Conv2d(8, 16, 5, stride=2),
        nn.ReLU(),
        nn.Flatten(),
        nn.LazyLinear(64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def score(z, y):
    return F.cross_entropy(z, y).item(), (z.argmax(1) == y).float().mean().item()


class Flipped(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = network()

    def forward(self, x):
        if self.training:
            m = torch.rand(len(x)) < 0.5
            x = torch.where(m.view(-1, 1, 1, 1), x.flip(3), x)
            m = torch.rand(len(x)) < 0.5
            x = torch.where(m.view(-1, 1, 1, 1), x.flip(2), x)
        return self.net(x)


def main(data_dir, log_dir, device="cpu", epochs=2):
    """The flips have moved into the forward pass, in training mode"""
    x, y = read(data_dir, True)
    order = torch.randperm(len(x))
    held, rest = order[:2000], order[2000:]
    net = Flipped().to(device)
    net(x[:1])
    optimizer = torch.optim.Adam(net.parameters(), lr=0.002)
    step = 0
    with SummaryWriter(log_dir) as writer:
        for epoch in range(epochs):
            net.train()
            for rows in rest[torch.randperm(len(rest))].split(50):
                a, b = x[rows], y[rows]
                loss = F.cross_entropy(net(a), b)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                writer.add_scalar("Loss/train", loss.item(), step)
                step += 1
            net.eval()
            with torch.no_grad():
                z = net(x[held])
            vl, va = score(z, y[held])
            writer.add_scalar("Loss/validation", vl, step)
            writer.add_scalar("Accuracy/validation", va, step)
    return net
