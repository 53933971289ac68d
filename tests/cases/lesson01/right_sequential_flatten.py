# right
# No class of its own: an nn.Sequential with nn.Flatten and the size worked out by the convolution formula.
"""MNIST with nn.Sequential."""

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets
from torchvision.transforms import v2

SIDE, KERNEL, POOL, CHANNELS = 28, 5, 2, 10
FEATURES = CHANNELS * ((SIDE - KERNEL + 1) // POOL) ** 2  # 10 * 12 * 12

eval_transform = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])


def build() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(1, CHANNELS, KERNEL),
        nn.ReLU(),
        nn.MaxPool2d(POOL),
        nn.Flatten(),
        nn.Linear(FEATURES, 10),
    )


def run_epoch(net, loader, device, optimizer=None, on_step=None):
    """One pass; with an optimiser it trains, without one it measures. Returns mean loss and accuracy."""
    net.train(optimizer is not None)
    total = right = count = 0
    with torch.set_grad_enabled(optimizer is not None):
        for x, y in loader:
            x, y = x.to(device), y.to(device)
            out = net(x)
            loss = nn.functional.cross_entropy(out, y)
            if optimizer is not None:
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
                on_step(loss.item())
            total += loss.item() * len(y)
            right += (out.argmax(1) == y).sum().item()
            count += len(y)
    return total / count, right / count


def main(data_dir, log_dir, device="cpu", epochs=1):
    net = build().to(device)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
    train = DataLoader(datasets.MNIST(data_dir, train=True, transform=eval_transform), batch_size=50, shuffle=True)
    held = DataLoader(datasets.MNIST(data_dir, train=False, transform=eval_transform), batch_size=100)
    writer = SummaryWriter(log_dir=log_dir)
    steps = []

    def record(value):
        steps.append(value)
        writer.add_scalar("Loss/train", value, len(steps))

    for epoch in range(epochs):
        run_epoch(net, train, device, optimizer, record)
        loss, accuracy = run_epoch(net, held, device)
        writer.add_scalar("Loss/validation", loss, epoch)
        writer.add_scalar("Accuracy/validation", accuracy, epoch)
        print(f"{epoch}: {loss:.3f} {accuracy:.3f}")
    writer.close()
    return net


if __name__ == "__main__":
    main("datasets", "runs/lesson01")
