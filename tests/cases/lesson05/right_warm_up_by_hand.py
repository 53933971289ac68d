# right
# The rate climbs in a straight line over the first 100 updates to 0.05 and is written into the optimiser by hand.
from pathlib import Path

import torch
from torch import nn, optim
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

TOP_RATE, CLIMB = 0.05, 100
eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize(0.1307, 0.3081)])


class Perceptron(nn.Module):
    """One broad hidden layer."""

    def __init__(self, width=200):
        super().__init__()
        self.enter, self.leave = nn.Linear(28 * 28, width), nn.Linear(width, 10)

    def forward(self, x):
        return self.leave(nn.functional.silu(self.enter(x.flatten(start_dim=1))))


def score(net, pairs, device):
    """Mean loss and accuracy."""
    net.eval()
    losses, hits = [], []
    with torch.no_grad():
        for x, y in pairs:
            out = net(x.to(device)).cpu()
            losses.append(nn.functional.cross_entropy(out, y, reduction="none"))
            hits.append(out.argmax(1).eq(y).float())
    return torch.cat(losses).mean().item(), torch.cat(hits).mean().item()


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train with a warm-up; return the net."""
    train = DataLoader(datasets.MNIST(data_dir, train=True, transform=eval_transform), 100, shuffle=True)
    valid = DataLoader(datasets.MNIST(data_dir, train=False, transform=eval_transform), 250)
    net = Perceptron().to(device)
    sgd = optim.SGD(net.parameters(), lr=0.0001, momentum=0.9, nesterov=True)
    book = SummaryWriter(log_dir)
    done = 0
    for epoch in range(epochs):
        net.train()
        for x, y in train:
            for group in sgd.param_groups:
                group["lr"] = TOP_RATE * min(1.0, (done + 1) / CLIMB)
            loss = nn.functional.cross_entropy(net(x.to(device)), y.to(device))
            sgd.zero_grad()
            loss.backward()
            sgd.step()
            book.add_scalar("Loss/train", loss.item(), done)
            done += 1
        loss, accuracy = score(net, valid, device)
        book.add_scalar("Loss/validation", loss, epoch)
        book.add_scalar("Accuracy/validation", accuracy, epoch)
        print(f"epoch {epoch}: {loss:.3f} {accuracy:.3f}")
    book.close()
    return net


if __name__ == "__main__":
    torch.manual_seed(0)
    top = Path(__file__).resolve().parents[2]
    main(str(top / "datasets"), str(top / "runs" / "lesson05"), epochs=2)
