# right
# Every step goes through the ten folders in order, eight images of each, and adds up ten gradients before it moves: the step sees all digits.
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
PART = 8


def read(data_dir, train):
    """Images (N, 1, 28, 28), labels (N,)."""
    d = datasets.MNIST(data_dir, train=train)
    return (d.data[:, None] / 255 - 0.1307) / 0.3081, d.targets


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Accumulate over the folders."""
    (x, y), (u, v) = read(data_dir, True), read(data_dir, False)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 64), torch.nn.GELU(), torch.nn.Linear(64, 10)).to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    log, step = SummaryWriter(log_dir), 0
    folders = [x[y == d].to(device) for d in range(10)]
    for _ in range(epochs):
        orders = [torch.randperm(len(f)) for f in folders]
        for start in range(0, max(map(len, folders)), PART):
            opt.zero_grad()
            total = 0.0
            for digit, (images, order) in enumerate(zip(folders, orders)):
                part = images[order[[i % len(order) for i in range(start, start + PART)]]]
                loss = F.cross_entropy(net(part), torch.full((PART,), digit, device=device)) / 10
                loss.backward()
                total += loss.item()
            opt.step()
            log.add_scalar("Loss/train", total, step)
            step += 1
        with torch.no_grad():
            scores = net(u.to(device)).cpu()
        log.add_scalar("Loss/validation", F.cross_entropy(scores, v).item(), step)
        log.add_scalar("Accuracy/validation", (scores.argmax(1) == v).float().mean().item(), step)
    log.close()
    return net


if __name__ == "__main__":
    main(str(Path(__file__).resolve().parents[2] / "datasets"), "runs/lesson16", epochs=2)
