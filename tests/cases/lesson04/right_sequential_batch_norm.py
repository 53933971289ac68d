# right
# A rewrite as one Sequential with batch norm and ReLU, an ordinary DataLoader, and a one-cycle schedule.
"""Ten digits, nine matrices."""

import torch
from torch import nn
from torch.optim.lr_scheduler import OneCycleLR
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms import ToTensor

eval_transform = ToTensor()


def block(size_in, size_out):
    return nn.Sequential(nn.Linear(size_in, size_out, bias=False), nn.BatchNorm1d(size_out), nn.ReLU())


def tensors(folder, train):
    split = MNIST(folder, train)
    return split.data[:, None] / 255, split.targets  # (N, 1, 28, 28), (N,)


def main(data_dir, log_dir, device="cpu", epochs=1):
    net = nn.Sequential(nn.Flatten(), block(784, 100), *[block(100, 100) for _ in range(7)], nn.Linear(100, 10)).to(device)
    loader = DataLoader(TensorDataset(*tensors(data_dir, True)), batch_size=64, shuffle=True, drop_last=True)
    x_valid, y_valid = (t.to(device) for t in tensors(data_dir, False))
    criterion = nn.CrossEntropyLoss()
    sgd = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    schedule = OneCycleLR(sgd, max_lr=0.05, epochs=epochs, steps_per_epoch=len(loader))
    log = SummaryWriter(log_dir)
    for epoch in range(epochs):
        net.train()
        for i, (x, y) in enumerate(loader):
            sgd.zero_grad()
            loss = criterion(net(x.to(device)), y.to(device))
            loss.backward()
            sgd.step()
            schedule.step()
            if i % 5 == 0:
                log.add_scalar("Loss/train", loss.detach(), epoch * len(loader) + i)
        net.eval()
        with torch.no_grad():
            scores = net(x_valid)
            log.add_scalar("Loss/validation", criterion(scores, y_valid), epoch)
            log.add_scalar("Accuracy/validation", (scores.argmax(1) == y_valid).float().mean(), epoch)
    log.close()
    return net


if __name__ == "__main__":
    main("datasets", "runs/lesson04")
