# right
# Encoder and head are two modules, called one after the other, on batches that are drawn anew.
"""Lesson 16: Encoder and head are two modules, called one after the other, on batches that are drawn anew."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


def read_folders(data_dir, train):
    mnist = datasets.MNIST(data_dir, train=train)
    order = torch.argsort(mnist.targets, stable=True)
    return ((mnist.data.unsqueeze(1).float() / 255 - 0.1307) / 0.3081)[order], mnist.targets[order]


def build():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10))


def score(z, y):
    return F.cross_entropy(z, y).item(), (z.argmax(1) == y).float().mean().item()


def main(data_dir, log_dir, device="cpu", epochs=2):
    """Two modules, called one after the other"""
    x, y = read_folders(data_dir, True)
    tx, ty = read_folders(data_dir, False)
    net = build().to(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    enc, head = net[:3], net[3]
    step = 0
    with SummaryWriter(log_dir) as writer:
        for epoch in range(epochs):
            net.train()
            for rows in torch.randperm(len(x)).split(40):
                loss = F.cross_entropy(head(enc(x[rows])), y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                writer.add_scalar("Loss/train", loss.item(), step)
                step += 1
            net.eval()
            with torch.no_grad():
                z = net(tx)
            vl, va = score(z, ty)
            writer.add_scalar("Loss/validation", vl, step)
            writer.add_scalar("Accuracy/validation", va, step)
    return net
