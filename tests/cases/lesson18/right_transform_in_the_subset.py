# right
# A dataset class of its own holds images and transform; the two parts are two objects over the same split.
"""Lesson 18: each part of the data has its own transform."""

from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, random_split
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms import v2

to_tensor = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.1307], [0.3081])]
eval_transform = v2.Compose(to_tensor)
training_transform = v2.Compose([v2.RandomAffine(degrees=12, scale=(0.9, 1.1), shear=8), *to_tensor])


class Part(Dataset):
    """Some of the images, seen through a transform."""

    def __init__(self, pairs, transform):
        self.pairs, self.transform = pairs, transform

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        picture, digit = self.pairs[index]
        return self.transform(picture), digit


class Perceptron(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = nn.Linear(784, 150), nn.Linear(150, 10)

    def forward(self, x):
        return self.outer(self.inner(x.flatten(1)).relu())


def main(data_dir, log_dir, device="cpu", epochs=2):
    raw = MNIST(data_dir, train=True)
    first, second = random_split(raw, [8500, len(raw) - 8500])
    training = DataLoader(Part(first, training_transform), batch_size=64, shuffle=True)
    validation = DataLoader(Part(second, eval_transform), batch_size=250)
    net = Perceptron().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    log, step = SummaryWriter(log_dir), 0
    for _ in range(epochs):
        for x, y in training:
            loss = nn.functional.cross_entropy(net(x.to(device)), y.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            log.add_scalar("Loss/train", loss.item(), step)
        with torch.no_grad():
            pairs = [(net(x.to(device)).cpu(), y) for x, y in validation]
        scores, truth = torch.cat([s for s, _ in pairs]), torch.cat([y for _, y in pairs])
        log.add_scalar("Loss/validation", nn.functional.cross_entropy(scores, truth).item(), step)
        log.add_scalar("Accuracy/validation", (scores.argmax(1) == truth).float().mean().item(), step)
    log.close()
    return net


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson18"))
