# right
# The table is given up: MNIST through a DataLoader hands out labels (N,) of type long by itself, to a small convolutional network.
"""A convolutional network, fed by a DataLoader."""

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import transforms
from torchvision.datasets import MNIST

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


class SmallNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(1, 8, 5, stride=3)
        self.d = nn.Linear(8 * 64, 10)

    def forward(self, x):
        return self.d(self.c(x).relu().flatten(1))


def main(data_dir, log_dir, device="cpu", epochs=1):
    loader = DataLoader(MNIST(data_dir, train=True, transform=eval_transform), batch_size=50, shuffle=True)
    held = DataLoader(MNIST(data_dir, train=False, transform=eval_transform), batch_size=200)
    net = SmallNet().to(device)
    opt = torch.optim.Adam(net.parameters(), 0.003)
    w = SummaryWriter(log_dir)
    n = 0
    for epoch in range(epochs):
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x.to(device)), y.to(device), label_smoothing=0.05)
            opt.zero_grad()
            loss.backward()
            opt.step()
            w.add_scalar("Loss/train", loss.item(), n)
            n += 1
        with torch.no_grad():
            pairs = [(net(x.to(device)).cpu(), y) for x, y in held]
        scores, y = torch.cat([p for p, _ in pairs]), torch.cat([t for _, t in pairs])
        w.add_scalar("Loss/validation", nn.functional.cross_entropy(scores, y).item(), epoch)
        w.add_scalar("Accuracy/validation", (scores.argmax(1) == y).float().mean().item(), epoch)
    w.close()
    return net
