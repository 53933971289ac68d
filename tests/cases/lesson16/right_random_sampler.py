# right
# A DataLoader whose RandomSampler draws with replacement: some images come twice in an epoch, some not at all, and all mixed.
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import ConcatDataset, DataLoader, RandomSampler, TensorDataset
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.ToTensor()


def folder(split, digit):
    """The images of one digit."""
    images = split.data[split.targets == digit][:, None] / 255
    return TensorDataset(images, torch.full((len(images),), digit))


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train on ten folders."""
    splits = [datasets.MNIST(data_dir, train=t) for t in (True, False)]
    train, test = (ConcatDataset([folder(s, d) for d in range(10)]) for s in splits)
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 60), nn.ReLU(), nn.Linear(60, 10)).to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
    log, step = SummaryWriter(log_dir), 0
    for _ in range(epochs):
        for x, y in DataLoader(train, batch_size=64, sampler=RandomSampler(train, replacement=True)):
            loss = nn.functional.cross_entropy(net(x.to(device)), y.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
            log.add_scalar("Loss/train", loss.item(), step)
            step += 1
        with torch.no_grad():
            pairs = [(net(x.to(device)).cpu(), y) for x, y in DataLoader(test, batch_size=500)]
        scores, truth = (torch.cat(t) for t in zip(*pairs))
        log.add_scalar("Loss/validation", nn.functional.cross_entropy(scores, truth).item(), step)
        log.add_scalar("Accuracy/validation", (scores.argmax(1) == truth).float().mean().item(), step)
    log.close()
    return net


if __name__ == "__main__":
    main(str(Path(__file__).resolve().parents[2] / "datasets"), "runs/lesson16", epochs=2)
