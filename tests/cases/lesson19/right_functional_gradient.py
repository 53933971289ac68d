# right, remark: own_label
# Pure functions: torch.func.grad_and_value of the cross-entropy of logits; nobody can watch single gradients, so the logged loss speaks.
"""Is it a 7? In the functional style."""

from pathlib import Path

import torch
from torch import nn
from torch.func import functional_call, grad_and_value
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms import ToTensor

eval_transform = ToTensor()


def main(data_dir, log_dir, device="cpu", epochs=1):
    machine = nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.Tanh(), nn.Linear(64, 1)).to(device)
    weights = {name: p.detach().clone() for name, p in machine.named_parameters()}

    def objective(weights, x, t):
        return binary_cross_entropy_with_logits(functional_call(machine, weights, (x,)).squeeze(1), t)

    slope = grad_and_value(objective)
    held = MNIST(data_dir, train=False, transform=eval_transform)
    x_held, t_held = torch.stack([x for x, _ in held]).to(device), (held.targets == 7).float().to(device)
    with SummaryWriter(log_dir) as book:
        n = 0
        for epoch in range(epochs):
            for x, y in DataLoader(MNIST(data_dir, train=True, transform=eval_transform), batch_size=32, shuffle=True):
                gradient, value = slope(weights, x.to(device), (y == 7).float().to(device))
                weights = {name: w - 0.3 * gradient[name] for name, w in weights.items()}
                book.add_scalar("Loss/train", float(value), n)
                n += 1
            with torch.no_grad():
                machine.load_state_dict(weights)
                z = machine(x_held).squeeze(1)
            seven, other = (z[t_held == 1] > 0).float().mean(), (z[t_held == 0] <= 0).float().mean()
            book.add_scalar("Loss/validation", binary_cross_entropy_with_logits(z, t_held).item(), epoch)
            book.add_scalar("Accuracy/validation", ((seven + other) / 2).item(), epoch)
    return machine


if __name__ == "__main__":
    torch.manual_seed(0)
    root = Path(__file__).resolve().parents[2]
    main(str(root / "datasets"), str(root / "runs" / "lesson19"))
