# right
# Two rates are tried on one split; the model with the better validation accuracy is returned and tested once.
"""Lesson 15: Two rates are tried on one split."""

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
    """Two rates tried on one split, the better by validation is returned."""
    x, y = read(data_dir, True)
    tx, ty = read(data_dir, False)
    order = torch.randperm(len(x))
    held, rest = order[:1500], order[1500:]
    step, done = 0, []
    with SummaryWriter(log_dir) as writer:
        for lr in (0.0005, 0.002):
            model = build().to(device)
            optimizer = torch.optim.Adam(model.parameters(), lr=lr)
            for epoch in range(epochs):
                for rows in rest[torch.randperm(len(rest))].split(50):
                    loss = F.cross_entropy(model(x[rows]), y[rows])
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    writer.add_scalar("Loss/train", loss.item(), step)
                    step += 1
                vl, va = measure(model, x[held], y[held])
                writer.add_scalar("Loss/validation", vl, step)
                writer.add_scalar("Accuracy/validation", va, step)
            done.append((va, model))
        model = max(done, key=lambda d: d[0])[1]
        tl, ta = measure(model, tx, ty)
        writer.add_scalar("Accuracy/test", ta, step)
    return model
