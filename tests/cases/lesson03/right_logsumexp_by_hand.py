# right
# The cross-entropy written out, logsumexp(z) - z[label], with torch.autograd.grad and a hand-made momentum step: no loss object, optimiser or DataLoader.
"""A two-layer classifier from raw parameters."""

import pathlib

import torch
from torch.utils.tensorboard import SummaryWriter
from torchvision import transforms
from torchvision.datasets import MNIST

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Lambda(lambda image: (image - 0.13) / 0.31)])
RATE, MOMENTUM, ROWS = 0.03, 0.9, 50


class Classifier(torch.nn.Module):
    """Weights without layers: (784, 100) and (100, 10)."""

    def __init__(self):
        super().__init__()
        self.w1 = torch.nn.Parameter(torch.randn(784, 100) / 28)
        self.b1 = torch.nn.Parameter(torch.zeros(100))
        self.w2 = torch.nn.Parameter(torch.randn(100, 10) / 10)
        self.b2 = torch.nn.Parameter(torch.zeros(10))

    def forward(self, pictures):
        h = (pictures.reshape(len(pictures), 784) @ self.w1 + self.b1).relu()
        return h @ self.w2 + self.b2


def cost(z, y):
    """Mean of logsumexp(z) - z[y] over the rows of z (N, 10)."""
    return (z.logsumexp(1) - z[torch.arange(len(y), device=z.device), y]).mean()


def tensors(data_dir, train, device):
    split = MNIST(data_dir, train=train)
    pixels = split.data.unsqueeze(1) / 255  # (N, 1, 28, 28)
    return ((pixels - 0.13) / 0.31).to(device), split.targets.to(device)


def main(data_dir, log_dir, device="cpu", epochs=1):
    x, y = tensors(data_dir, True, device)
    x_valid, y_valid = tensors(data_dir, False, device)
    net = Classifier().to(device)
    weights = list(net.parameters())
    speeds = [torch.zeros_like(w) for w in weights]
    writer = SummaryWriter(log_dir)
    t = 0
    for epoch in range(epochs):
        order = torch.randperm(len(x), device=device)
        for start in range(0, len(x), ROWS):
            rows = order[start : start + ROWS]
            loss = cost(net(x[rows]), y[rows])
            gradients = torch.autograd.grad(loss, weights)
            with torch.no_grad():
                for w, v, g in zip(weights, speeds, gradients):
                    v.mul_(MOMENTUM).add_(g)
                    w.sub_(RATE * v)
            writer.add_scalar("Loss/train", loss.item(), t)
            t += 1
        with torch.no_grad():
            z = net(x_valid)
            accuracy = (z.argmax(1) == y_valid).float().mean().item()
            writer.add_scalar("Loss/validation", cost(z, y_valid).item(), epoch)
        writer.add_scalar("Accuracy/validation", accuracy, epoch)
        print(epoch, accuracy)
    writer.close()
    return net


if __name__ == "__main__":
    root = pathlib.Path(__file__).resolve().parents[2]
    print(main(str(root / "datasets"), str(root / "runs" / "lesson03")))
