# right
# Validation goes digit by digit, in ten groups of different size; each group counts by its size.
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Subset
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.13, 0.31)])


class Average:
    """A weighted mean."""

    def __init__(self):
        self.sum = self.weight = 0.0

    def __iadd__(self, pair):
        value, weight = pair
        self.sum += value * weight
        self.weight += weight
        return self

    def __float__(self):
        return self.sum / self.weight


class Plain(nn.Module):
    def __init__(self):
        super().__init__()
        self.maps = nn.Conv2d(1, 6, 7, stride=3)
        self.out = nn.Linear(6 * 64, 10)

    def forward(self, x):
        return self.out(F.leaky_relu(self.maps(x)).flatten(1))


def main(data_dir, log_dir, device="cpu", epochs=3):
    train = datasets.MNIST(data_dir, train=True, transform=eval_transform)
    valid = datasets.MNIST(data_dir, train=False, transform=eval_transform)
    groups = [torch.stack([valid[i][0] for i in (valid.targets == digit).nonzero().flatten()]).to(device) for digit in range(10)]
    net = Plain().to(device)
    adam = torch.optim.Adam(net.parameters(), lr=0.003)
    with SummaryWriter(log_dir) as log:
        for epoch in range(epochs):
            net.train()
            for number, (x, y) in enumerate(DataLoader(Subset(train, torch.randperm(10_000).tolist()), batch_size=80)):
                adam.zero_grad(set_to_none=True)
                loss = F.cross_entropy(net(x.to(device)), y.to(device))
                loss.backward()
                adam.step()
                log.add_scalar("Loss/train", loss.item(), epoch * 125 + number)
            net.eval()
            cost, share = Average(), Average()
            for digit, x in enumerate(groups):
                with torch.no_grad():
                    z = net(x)
                cost += F.cross_entropy(z, torch.full((len(x),), digit, device=device)).item(), len(x)
                share += (z.argmax(1) == digit).double().mean().item(), len(x)
            log.add_scalar("Loss/validation", float(cost), epoch)
            log.add_scalar("Accuracy/validation", float(share), epoch)
    return net


if __name__ == "__main__":
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson12"))
