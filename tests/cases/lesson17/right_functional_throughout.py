# right
# Batch norm and dropout as functions of a flag that is an argument of the forward pass, buffers for the statistics, no layer with a mode at all.
"""Lesson 17: what a layer does in training is an argument, with eval mode as the default."""

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms import Compose, Normalize, ToTensor

eval_transform = Compose([ToTensor(), Normalize(0.1307, 0.3081)])


class Flagged(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.b1 = nn.Parameter(torch.randn(100, 784) * 0.04), nn.Parameter(torch.zeros(100))
        self.gain, self.shift = nn.Parameter(torch.ones(100)), nn.Parameter(torch.zeros(100))
        self.w2, self.b2 = nn.Parameter(torch.randn(10, 100) * 0.1), nn.Parameter(torch.zeros(10))
        self.register_buffer("mean", torch.zeros(100))
        self.register_buffer("var", torch.ones(100))

    def forward(self, images):
        x = F.linear(images.flatten(1), self.w1, self.b1)
        x = F.batch_norm(x, self.mean, self.var, self.gain, self.shift, training=self.training)
        x = F.dropout(F.relu(x), 0.3, training=self.training)
        return F.linear(x, self.w2, self.b2)


def main(data_dir, log_dir, device="cpu", epochs=2):
    net, step = Flagged().to(device), 0
    optimizer = torch.optim.Adam(net.parameters(), 0.002)
    training = DataLoader(MNIST(data_dir, train=True, transform=eval_transform), 64, shuffle=True)
    validation = DataLoader(MNIST(data_dir, train=False, transform=eval_transform), 500)
    with SummaryWriter(log_dir) as log:
        for _ in range(min(epochs, 2)):
            for images, labels in training:
                loss = F.cross_entropy(net.train()(images.to(device)), labels.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                step += 1
                log.add_scalar("Loss/train", loss.item(), step)
            with torch.no_grad():
                answers = [(net.eval()(images.to(device)).cpu(), labels) for images, labels in validation]
            scores, labels = (torch.cat(part) for part in zip(*answers))
            log.add_scalar("Loss/validation", F.cross_entropy(scores, labels).item(), step)
            log.add_scalar("Accuracy/validation", (scores.argmax(1) == labels).float().mean().item(), step)
    return net


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson17"))
