# right
# No memory at all: a residual convolutional net full of in-place operations, each on a tensor that no backward pass asks for again.
from pathlib import Path

import torch
from torch import nn, optim
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.ToTensor()


class Block(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.a = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        y = self.norm(self.a(x))
        y += x  # batch norm keeps its input, not what it returns
        return y.relu_()


class Net(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 8, 5, stride=2),
            nn.ReLU(inplace=True),
            Block(8),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Dropout(0.1, inplace=False),
            nn.Linear(8 * 36, 10),
        )


def main(data_dir, log_dir, device="cpu", epochs=1):
    loader = DataLoader(datasets.MNIST(data_dir, train=True, transform=eval_transform), batch_size=64, shuffle=True)
    check = DataLoader(datasets.MNIST(data_dir, train=False, transform=eval_transform), batch_size=500)
    net, best = Net().to(device), nn.CrossEntropyLoss()
    sgd = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    log = SummaryWriter(log_dir)
    for epoch in range(epochs):
        net.train()
        for number, (x, y) in enumerate(loader):
            loss = best(net(x.to(device)), y.to(device))
            loss += 1e-4 * sum(w.square().sum() for w in net.parameters() if w.dim() > 1)
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            log.add_scalar("Loss/train", loss.item(), epoch * len(loader) + number)
        net.eval()
        lost = hits = 0
        with torch.no_grad():
            for x, y in check:
                z = net(x.to(device)).cpu()
                lost += best(z, y).item() * len(y)
                hits += (z.argmax(1) == y).sum().item()
        log.add_scalar("Loss/validation", lost / 2000, epoch)
        log.add_scalar("Accuracy/validation", hits / 2000, epoch)
    log.close()
    return net


if __name__ == "__main__":
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson10"))
