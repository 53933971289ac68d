# right
# Encoder and head are two modules, called one after the other and returned as one: answers come from the second, images go into the first.
"""Lesson 15: Encoder and head are two modules, called one after the other and returned as one."""

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
    """Encoder and head are two modules that the loop calls one after the other; a Sequential of both is returned."""
    x, y = read(data_dir, True)
    tx, ty = read(data_dir, False)
    order = torch.randperm(len(x))
    held, rest = order[:2000], order[2000:]
    encoder, head = (
        nn.Sequential(nn.Flatten(), nn.Linear(784, 200), nn.ReLU()).to(device),
        nn.Linear(200, 10).to(device),
    )
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.002)
    step = 0
    with SummaryWriter(log_dir) as writer:
        for epoch in range(epochs):
            for rows in rest[torch.randperm(len(rest))].split(50):
                loss = F.cross_entropy(head(encoder(x[rows])), y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                writer.add_scalar("Loss/train", loss.item(), step)
                step += 1
            with torch.no_grad():
                z = head(encoder(x[held]))
            writer.add_scalar("Loss/validation", F.cross_entropy(z, y[held]).item(), step)
            writer.add_scalar(
                "Accuracy/validation",
                (z.argmax(1) == y[held]).float().mean().item(),
                step,
            )
        with torch.no_grad():
            z = head(encoder(tx))
        writer.add_scalar("Accuracy/test", (z.argmax(1) == ty).float().mean().item(), step)
    return nn.Sequential(encoder, head)
