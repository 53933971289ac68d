# right
# Rows of an identity matrix as soft targets, mixed a little with an even guess, and accumulated over two half batches a step.
"""Soft targets from the rows of an identity matrix."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets


def eval_transform(image):
    return torch.tensor(list(image.getdata()), dtype=torch.float32).view(1, 28, 28) / 255


def pairs(data_dir, train):
    raw = datasets.MNIST(data_dir, train=train)
    soft = torch.eye(10)[raw.targets] * 0.95 + 0.005
    return TensorDataset(raw.data[:, None] / 255.0, soft, raw.targets)


def main(data_dir, log_dir, device="cpu", epochs=1):
    model = nn.Sequential(nn.AvgPool2d(2), nn.Flatten(), nn.Linear(196, 64), nn.ReLU(), nn.Linear(64, 10)).to(device)
    opt = torch.optim.Adam(model.parameters(), lr=0.004)
    writer = SummaryWriter(log_dir)
    step = 0
    for epoch in range(epochs):
        for x, soft, _ in DataLoader(pairs(data_dir, True), 64, shuffle=True):
            opt.zero_grad()
            total = 0.0
            for a, b in zip(x.chunk(2), soft.chunk(2), strict=True):
                part = nn.functional.cross_entropy(model(a.to(device)), b.to(device)) * len(a) / len(x)
                part.backward()
                total += part.item()
            opt.step()
            writer.add_scalar("Loss/train", total, step)
            step += 1
        x, soft, y = pairs(data_dir, False)[:]
        with torch.no_grad():
            out = model(x.to(device)).cpu()
        writer.add_scalar("Loss/validation", nn.functional.cross_entropy(out, soft).item(), epoch)
        writer.add_scalar("Accuracy/validation", (out.argmax(1) == y).float().mean().item(), epoch)
    writer.close()
    return model
