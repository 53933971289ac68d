# right
# The centres are parameters with a rate of their own: what is carried from batch to batch is a leaf, and has no history.
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.ToTensor()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 16))
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(16, 10))

    def forward(self, x):
        return self.head(self.body(x))


class CentreLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.centres = nn.Parameter(torch.randn(10, 16))

    def forward(self, code, target):
        return F.mse_loss(code, self.centres[target])


def main(data_dir, log_dir, device="cpu", epochs=1):
    net, gather = Net().to(device), CentreLoss().to(device)
    optimiser = torch.optim.SGD([{"params": net.parameters(), "lr": 0.1}, {"params": gather.parameters(), "lr": 0.5}], momentum=0.9)
    train = DataLoader(datasets.MNIST(data_dir, train=True, transform=eval_transform), batch_size=50, shuffle=True)
    test = DataLoader(datasets.MNIST(data_dir, train=False, transform=eval_transform), batch_size=250)
    log, n = SummaryWriter(log_dir), 0
    for _ in range(epochs):
        for x, t in train:
            x, t = x.to(device), t.to(device)
            code = net.body(x)
            loss = F.cross_entropy(net.head(code), t) + 0.1 * gather(code, t)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            log.add_scalar("Loss/train", loss.item(), n)
            n += 1
        with torch.no_grad():
            z, t = map(torch.cat, zip(*((net(x.to(device)).cpu(), t) for x, t in test), strict=True))
        log.add_scalar("Loss/validation", F.cross_entropy(z, t).item(), n)
        log.add_scalar("Accuracy/validation", (z.argmax(1) == t).float().mean().item(), n)
    log.close()
    return net


if __name__ == "__main__":
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson11"))
