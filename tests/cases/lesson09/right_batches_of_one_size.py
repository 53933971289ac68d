# right
# A batch sampler puts digits of the same height and width together, so that nothing is padded in training; eval_transform sets them into one frame.
"""Batches of pictures that have one size by nature."""

import random
from collections import defaultdict

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets


def cut(image):
    pixels = np.asarray(image)
    rows, columns = (np.flatnonzero((pixels > 40).any(axis=axis)) for axis in (1, 0))
    return torch.tensor(pixels[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]).float().div(255)[None]


def eval_transform(image):
    digit = cut(image)
    frame = torch.zeros(1, 28, 28)
    frame[:, 2 : 2 + digit.shape[1], 2 : 2 + digit.shape[2]] = digit
    return frame


class OfOneSize:
    """Lists of indices of pictures that have one size."""

    def __init__(self, pictures, most):
        self.groups = defaultdict(list)
        for index, picture in enumerate(pictures):
            self.groups[picture.shape].append(index)
        self.most = most

    def __iter__(self):
        batches = []
        for group in self.groups.values():
            random.shuffle(group)
            batches += [group[i : i + self.most] for i in range(0, len(group), self.most)]
        random.shuffle(batches)
        return iter(batches)


class AnySize(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(1, 16, 3, padding=1)
        self.b = nn.Conv2d(16, 24, 3, stride=2, padding=1)
        self.pool = nn.AdaptiveMaxPool2d(4)
        self.c = nn.Linear(24 * 16, 10)

    def forward(self, x):
        x = nn.functional.pad(x, (2, 26 - x.shape[3], 2, 26 - x.shape[2])) if x.shape[3] < 28 or x.shape[2] < 28 else x  # back into a frame
        return self.c(self.pool(self.b(self.a(x).relu()).relu()).flatten(1))


def main(data_dir, log_dir, device="cpu", epochs=1):
    source = datasets.MNIST(data_dir, train=True)
    pictures = [cut(image) for image, _ in source]
    data = list(zip(pictures, source.targets.tolist(), strict=True))
    model = AnySize().to(device)
    opt = torch.optim.Adam(model.parameters(), lr=0.003)
    writer = SummaryWriter(log_dir)
    step = 0
    for epoch in range(epochs):
        for x, y in DataLoader(data, batch_sampler=OfOneSize(pictures, 50)):
            loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
            writer.add_scalar("Loss/train", loss.item(), step)
            step += 1
        check = datasets.MNIST(data_dir, train=False)
        with torch.no_grad():
            out = torch.cat([model(part.to(device)).cpu() for part in torch.stack([eval_transform(image) for image, _ in check]).split(500)])
        writer.add_scalar("Loss/validation", nn.functional.cross_entropy(out, check.targets).item(), step)
        writer.add_scalar("Accuracy/validation", (out.argmax(1) == check.targets).float().mean().item(), step)
    writer.close()
    return model
