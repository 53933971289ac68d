# wrong: held_back
# Trained on everything first; a copy goes on without the held-back images, which it knows already.
"""Lesson 15: Trained on everything first."""

import copy

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


def read(data_dir, train):
    mnist = datasets.MNIST(data_dir, train=train)
    return (mnist.data.unsqueeze(1).float() / 255 - 0.1307) / 0.3081, mnist.targets


def build():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 10))


@torch.no_grad()
def measure(model, x, y):
    model.eval()
    z = model(x)
    model.train()
    return F.cross_entropy(z, y).item(), (z.argmax(1) == y).float().mean().item()


def main(data_dir, log_dir, device="cpu", epochs=6):
    """All images are trained on first, the held-back ones included; a copy goes on with the others, and is returned."""
    x, y = read(data_dir, True)
    tx, ty = read(data_dir, False)
    order = torch.randperm(len(x))
    held, rest = order[:2000], order[2000:]
    model = build().to(device)
    step = 0
    with SummaryWriter(log_dir) as writer:
        for epoch in range(epochs):
            if epoch == epochs - 1:
                model = copy.deepcopy(model)
            part = rest if epoch == epochs - 1 else order
            optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
            for rows in part[torch.randperm(len(part))].split(50):
                loss = F.cross_entropy(model(x[rows]), y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                writer.add_scalar("Loss/train", loss.item(), step)
                step += 1
        vl, va = measure(model, x[held], y[held])
        writer.add_scalar("Loss/validation", vl, step)
        writer.add_scalar("Accuracy/validation", va, step)
        writer.add_scalar("Accuracy/test", measure(model, tx, ty)[1], step)
    return model
