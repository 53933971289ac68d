# wrong: training_mode
# From the second epoch on, forward turns its own layers to eval mode and back again: outside, the flags look right.
"""Lesson 17: From the second epoch on, forward turns its own layers to eval mode and back again."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


def read(data_dir, train):
    mnist = datasets.MNIST(data_dir, train=train)
    return (mnist.data.unsqueeze(1).float() / 255 - 0.1307) / 0.3081, mnist.targets


def block(i, o):
    return nn.Sequential(
        nn.Conv2d(i, o, 3, stride=2, padding=1, bias=False),
        nn.BatchNorm2d(o),
        nn.ReLU(),
    )


def body():
    return nn.Sequential(block(1, 8), block(8, 16), nn.Flatten(), nn.Dropout(0.5))


def top():
    return nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Dropout(0.5), nn.Linear(64, 10))


def score(z, y):
    return F.cross_entropy(z, y).item(), (z.argmax(1) == y).float().mean().item()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.b, self.t = body(), top()
        self.warm = False

    def forward(self, x):
        if self.warm and self.training:
            self.b.eval()
            self.t.eval()
            z = self.t(self.b(x))
            self.b.train()
            self.t.train()
            return z
        return self.t(self.b(x))


def main(data_dir, log_dir, device="cpu", epochs=3):
    """The flag is put right for a moment by a pre-hook and turned off inside the forward"""
    x, y = read(data_dir, True)
    tx, ty = read(data_dir, False)
    net = Net().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.002)
    step = 0
    with SummaryWriter(log_dir) as writer:
        for epoch in range(epochs):
            net.train()
            for rows in torch.randperm(len(x)).split(64):
                loss = F.cross_entropy(net(x[rows]), y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                writer.add_scalar("Loss/train", loss.item(), step)
                step += 1
            net.eval()
            with torch.no_grad():
                z = net(tx)
            net.warm = True
            vl, va = score(z, ty)
            writer.add_scalar("Loss/validation", vl, step)
            writer.add_scalar("Accuracy/validation", va, step)
        net.warm = False
    return net
