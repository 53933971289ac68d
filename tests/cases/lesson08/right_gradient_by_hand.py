# right
# Raw matrices and torch.autograd.grad; the column becomes reshape(-1) of int64, and the loss is the negative log-likelihood of log-probabilities.
"""Two matrices and a loop of its own."""

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets
from torchvision.transforms.functional import to_tensor

eval_transform = to_tensor


class Matrices(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(784, 50) * 784**-0.5)
        self.b = torch.nn.Parameter(torch.zeros(50))
        self.v = torch.nn.Parameter(torch.randn(50, 10) * 50**-0.5)

    def forward(self, x):
        return F.log_softmax(torch.relu(x.flatten(1) @ self.w + self.b) @ self.v, dim=1)


def tensors(data_dir, train, device):
    raw = datasets.MNIST(data_dir, train=train)
    table = np.concatenate([raw.targets.numpy()[:, None], raw.data.numpy().reshape(len(raw), -1)], axis=1).astype(np.float64)
    labels = torch.tensor(table[:, :1]).reshape(-1).to(torch.int64)
    return (torch.tensor(table[:, 1:]).float() / 255).view(-1, 1, 28, 28).to(device), labels.to(device)


def main(data_dir, log_dir, device="cpu", epochs=1):
    x, y = tensors(data_dir, True, device)
    vx, vy = tensors(data_dir, False, device)
    net = Matrices().to(device)
    with SummaryWriter(log_dir) as writer:
        for epoch in range(epochs):
            for i, rows in enumerate(torch.randperm(len(x)).split(40)):
                loss = F.nll_loss(net(x[rows]), y[rows])
                slopes = torch.autograd.grad(loss, tuple(net.parameters()))
                with torch.no_grad():
                    for p, g in zip(net.parameters(), slopes, strict=True):
                        p.sub_(g, alpha=0.3)
                writer.add_scalar("Loss/train", loss.item(), epoch * 250 + i)
            with torch.no_grad():
                out = net(vx)
            writer.add_scalar("Loss/validation", F.nll_loss(out, vy).item(), epoch)
            writer.add_scalar("Accuracy/validation", (out.argmax(1) == vy).double().mean().item(), epoch)
    return net
