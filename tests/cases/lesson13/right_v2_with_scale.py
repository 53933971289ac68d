# right
# A rewrite with the v2 transforms: ToImage keeps bytes, ToDtype(scale=True) changes type and range together, Normalize comes last.
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets
from torchvision.transforms import v2

eval_transform = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.1307], [0.3081])])


def main(data_dir, log_dir, device="cpu", epochs=1):
    """A perceptron with one hidden layer, SGD with momentum."""
    train, test = (datasets.MNIST(data_dir, train=t, transform=eval_transform) for t in (True, False))
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.Tanh(), nn.Linear(64, 10)).to(device)
    sgd = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
    with SummaryWriter(log_dir) as log:
        step = 0
        for _ in range(epochs):
            for x, y in DataLoader(train, 32, shuffle=True):
                sgd.zero_grad()
                loss = nn.functional.cross_entropy(net(x.to(device)), y.to(device))
                loss.backward()
                sgd.step()
                step += 1
                log.add_scalar("Loss/train", loss.item(), step)
            with torch.no_grad():
                out = torch.cat([torch.cat([net(x.to(device)).cpu(), y[:, None]], 1) for x, y in DataLoader(test, 400)])
            scores, truth = out[:, :10], out[:, 10].long()
            log.add_scalar("Loss/validation", nn.functional.cross_entropy(scores, truth).item(), step)
            log.add_scalar("Accuracy/validation", (scores.argmax(1) == truth).float().mean().item(), step)
    return net


if __name__ == "__main__":
    main(str(Path(__file__).resolve().parents[2] / "datasets"), "runs/lesson13")
