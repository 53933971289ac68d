# right, remark: mistakes_count
# Pure functions: torch.func.grad_and_value of log_softmax and nll_loss; the gradients come back where nobody can watch them.
"""MNIST in the functional style."""

from pathlib import Path

import torch
from torch import nn
from torch.func import functional_call, grad_and_value
from torch.nn import functional as F
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms import ToTensor

eval_transform = ToTensor()


def loss(logits, targets):
    return F.nll_loss(F.log_softmax(logits, dim=-1), targets)


def main(data_dir, log_dir, device="cpu", epochs=1):
    machine = nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.Tanh(), nn.Linear(64, 10)).to(device)
    weights = {name: p.detach().clone() for name, p in machine.named_parameters()}
    slope = grad_and_value(lambda weights, x, y: loss(functional_call(machine, weights, (x,)), y))
    held = MNIST(data_dir, train=False, transform=eval_transform)
    x_held, y_held = torch.stack([x for x, _ in held]).to(device), held.targets.to(device)
    with SummaryWriter(log_dir) as book:
        seen = 0
        for epoch in range(epochs):
            for x, y in DataLoader(MNIST(data_dir, train=True, transform=eval_transform), batch_size=32, shuffle=True):
                gradient, value = slope(weights, x.to(device), y.to(device))
                weights = {name: w - 0.2 * gradient[name] for name, w in weights.items()}
                book.add_scalar("Loss/train", float(value), seen)
                seen += 1
            with torch.no_grad():
                machine.load_state_dict(weights)
                z = machine(x_held)
            book.add_scalar("Loss/validation", loss(z, y_held).item(), epoch)
            book.add_scalar("Accuracy/validation", (z.argmax(1) == y_held).float().mean().item(), epoch)
    return machine


if __name__ == "__main__":
    torch.manual_seed(0)
    root = Path(__file__).resolve().parents[2]
    main(str(root / "datasets"), str(root / "runs" / "lesson20"))
