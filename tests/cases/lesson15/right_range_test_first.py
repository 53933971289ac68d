# right
# A range test on a throw-away copy reads all images; the training that counts has one split and stops early.
"""Lesson 15: A range test on a throw-away copy reads all images."""

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
    """A range test on a copy with all training images, validation before training, early stopping; gradient accumulation."""
    x, y = read(data_dir, True)
    tx, ty = read(data_dir, False)
    gen = torch.Generator().manual_seed(7)
    order = torch.randperm(len(x), generator=gen)
    held, rest = order[:1000], order[1000:]
    model = build().to(device)
    probe = copy.deepcopy(model)
    opt = torch.optim.SGD(probe.parameters(), lr=1e-4)
    for i, rows in enumerate(torch.randperm(len(x)).split(100)):
        loss = F.cross_entropy(probe(x[rows]), y[rows])
        opt.zero_grad()
        loss.backward()
        opt.step()
        opt.param_groups[0]["lr"] *= 1.05
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    step, bad, best = 0, 0, 9.0
    with SummaryWriter(log_dir) as writer:
        vl, va = measure(model, x[held], y[held])
        writer.add_scalar("Loss/validation", vl, 0)
        writer.add_scalar("Accuracy/validation", va, 0)
        for epoch in range(epochs):
            for i, rows in enumerate(rest[torch.randperm(len(rest))].split(25)):
                loss = F.cross_entropy(model(x[rows]), y[rows])
                (loss / 2).backward()
                if i % 2:
                    optimizer.step()
                    optimizer.zero_grad()
                writer.add_scalar("Loss/train", loss.item(), step)
                step += 1
            vl, va = measure(model, x[held], y[held])
            writer.add_scalar("Loss/validation", vl, step)
            writer.add_scalar("Accuracy/validation", va, step)
            if vl > best:
                break
            best = vl
        writer.add_scalar("Accuracy/test", measure(model, tx, ty)[1], step)
    return model
