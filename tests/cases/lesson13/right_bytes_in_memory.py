# right
# Bytes stay in memory and become floats from 0 to 1 batch by batch; bare weights, no loader, no optimiser, gradients from autograd.grad.
from pathlib import Path

import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST


def to_unit(raw):
    """uint8 pixels, any shape -> float32 from 0 to 1."""
    return raw.to(torch.float32) / 255.0


def eval_transform(picture):
    """PIL image -> (1, 28, 28)."""
    return to_unit(torch.from_numpy(np.array(picture)))[None]


class Layers(torch.nn.Module):
    """784 -> 100 -> 10, weights as bare parameters."""

    def __init__(self):
        super().__init__()
        self.w1 = torch.nn.Parameter(torch.randn(784, 100) * 0.08)
        self.b1 = torch.nn.Parameter(torch.zeros(100))
        self.w2 = torch.nn.Parameter(torch.randn(100, 10) * 0.1)
        self.b2 = torch.nn.Parameter(torch.zeros(10))

    def forward(self, x):
        hidden = torch.clamp_min(x.reshape(len(x), -1) @ self.w1 + self.b1, 0)
        return hidden @ self.w2 + self.b2


def nll(scores, truth):
    """Cross-entropy."""
    return -scores.log_softmax(1)[torch.arange(len(truth)), truth].mean()


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Gradient descent by hand."""
    train, test = MNIST(data_dir, train=True), MNIST(data_dir, train=False)
    net = Layers().to(device)
    weights = list(net.parameters())
    writer = SummaryWriter(log_dir)
    count = 0
    for _ in range(epochs):
        for chosen in torch.randperm(len(train.data)).split(25):
            loss = nll(net(to_unit(train.data[chosen, None]).to(device)), train.targets[chosen].to(device))
            slopes = torch.autograd.grad(loss, weights)
            with torch.no_grad():
                for w, g in zip(weights, slopes):
                    w -= 0.1 * g
            writer.add_scalar("Loss/train", loss.item(), count)
            count += 1
        with torch.no_grad():
            scores = net(to_unit(test.data[:, None]).to(device)).cpu()
        writer.add_scalar("Loss/validation", nll(scores, test.targets).item(), count)
        writer.add_scalar("Accuracy/validation", (scores.argmax(1) == test.targets).float().mean().item(), count)
    writer.close()
    return net


if __name__ == "__main__":
    main(str(Path(__file__).resolve().parents[2] / "datasets"), "runs/lesson13")
