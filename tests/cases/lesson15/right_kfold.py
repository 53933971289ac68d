# right
# Cross-validation over four folds: each model is validated on a fold that it has not seen, the last one is returned and tested once.
"""Lesson 15: Cross-validation over four folds."""

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
    """Four folds; the model of the last fold is returned, tested once."""
    x, y = read(data_dir, True)
    tx, ty = read(data_dir, False)
    folds = torch.randperm(len(x)).chunk(4)
    step, results = 0, []
    with SummaryWriter(log_dir) as writer:
        for k, held in enumerate(folds):
            rest = torch.cat([f for j, f in enumerate(folds) if j != k])
            model = build().to(device)
            optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
            for epoch in range(epochs if k == 3 else 2):
                for rows in rest[torch.randperm(len(rest))].split(50):
                    loss = F.cross_entropy(model(x[rows]), y[rows])
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    if k == 3:
                        writer.add_scalar("Loss/train", loss.item(), step)
                        step += 1
                vl, va = measure(model, x[held], y[held])
                if k == 3:
                    writer.add_scalar("Loss/validation", vl, step)
                    writer.add_scalar("Accuracy/validation", va, step)
            results.append(va)
        tl, ta = measure(model, tx, ty)
        writer.add_scalar("Accuracy/test", ta, step)
    return model
