# right
# Functional style: raw parameters, a hand-written SGD on torch.autograd.grad, index slices instead of a DataLoader, no optimiser object.
"""A convolution and two matrices, by hand."""

import math

import torch
import torch.nn.functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.Compose([transforms.PILToTensor(), transforms.ConvertImageDtype(torch.float32)])


class Weights(torch.nn.Module):
    """Six tensors and the formula that uses them."""

    def __init__(self):
        super().__init__()
        self.k = torch.nn.Parameter(torch.randn(10, 1, 5, 5) * math.sqrt(2 / 25))
        self.kb = torch.nn.Parameter(torch.zeros(10))
        self.a = torch.nn.Parameter(torch.randn(1440, 40) * math.sqrt(2 / 1440))
        self.ab = torch.nn.Parameter(torch.zeros(40))
        self.b = torch.nn.Parameter(torch.randn(40, 10) * math.sqrt(1 / 40))
        self.bb = torch.nn.Parameter(torch.zeros(10))

    def forward(self, x):
        x = F.max_pool2d(torch.relu(F.conv2d(x, self.k, self.kb)), 2)  # (N, 10, 12, 12)
        x = torch.relu(x.reshape(x.shape[0], -1) @ self.a + self.ab)  # (N, 40)
        return x @ self.b + self.bb


def tensors(data_dir, train, device):
    raw = datasets.MNIST(data_dir, train=train)
    return raw.data.unsqueeze(1).float().div(255).to(device), raw.targets.to(device)


def main(data_dir, log_dir, device="cpu", epochs=1):
    x, y = tensors(data_dir, True, device)
    vx, vy = tensors(data_dir, False, device)
    net = Weights().to(device)
    writer = SummaryWriter(log_dir)
    rate, size, step = 0.1, 50, 0
    for epoch in range(epochs):
        order = torch.randperm(len(x)).to(device)
        for start in range(0, len(x), size):
            rows = order[start : start + size]
            loss = F.cross_entropy(net(x[rows]), y[rows])
            grads = torch.autograd.grad(loss, list(net.parameters()))
            with torch.no_grad():
                for p, g in zip(net.parameters(), grads, strict=True):
                    p -= rate * g
            writer.add_scalar("Loss/train", loss.item(), step)
            step += 1
        with torch.no_grad():
            out = net(vx)
        accuracy = (out.argmax(1) == vy).float().mean().item()
        writer.add_scalar("Loss/validation", F.cross_entropy(out, vy).item(), epoch)
        writer.add_scalar("Accuracy/validation", accuracy, epoch)
        print(f"epoch {epoch} accuracy {accuracy:.3f}")
    writer.close()
    return net


if __name__ == "__main__":
    main("datasets", "runs/lesson01")
