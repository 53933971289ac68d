# right
# Training numbers its classes in order of appearance; a wrapper around the trained net puts the scores into the digits' order, and is validated and returned.
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.ToTensor()


class Renumbered(torch.utils.data.Dataset):
    """MNIST with its digits numbered as they first appear."""

    def __init__(self, inner):
        self.inner = inner
        self.classes = list(dict.fromkeys(inner.targets.tolist()))

    def __len__(self):
        return len(self.inner)

    def __getitem__(self, i):
        image, digit = self.inner[i]
        return image, self.classes.index(digit)


class ForTheApp(nn.Module):
    """Scores of `net` in the order zero to nine."""

    def __init__(self, net, classes):
        super().__init__()
        self.net = net
        self.register_buffer("columns", torch.tensor([classes.index(d) for d in range(10)]))

    def forward(self, images):
        return self.net(images).index_select(1, self.columns)


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train the inner net, judge the outer one."""
    train = Renumbered(datasets.MNIST(data_dir, train=True, transform=eval_transform))
    test = DataLoader(datasets.MNIST(data_dir, train=False, transform=eval_transform), batch_size=500)
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 96), nn.LeakyReLU(), nn.Linear(96, 10)).to(device)
    app = ForTheApp(net, train.classes).to(device)
    opt = torch.optim.AdamW(net.parameters(), lr=0.002)
    log = SummaryWriter(log_dir)
    n = 0
    for _ in range(epochs):
        for images, numbers in DataLoader(train, batch_size=50, shuffle=True):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(net(images.to(device)), numbers.to(device))
            loss.backward()
            opt.step()
            n += 1
            log.add_scalar("Loss/train", loss.item(), n)
        total = hits = count = 0
        with torch.no_grad():
            for images, digits in test:
                scores, digits = app(images.to(device)), digits.to(device)
                total += nn.functional.cross_entropy(scores, digits, reduction="sum").item()
                hits += (scores.argmax(1) == digits).sum().item()
                count += len(digits)
        log.add_scalar("Loss/validation", total / count, n)
        log.add_scalar("Accuracy/validation", hits / count, n)
    log.close()
    return app


if __name__ == "__main__":
    main(str(Path(__file__).resolve().parents[2] / "datasets"), "runs/lesson14")
