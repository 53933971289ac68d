# right
# A loop of pure functions: torch.func.grad_and_value of the cross-entropy of logits, parameters in a dictionary, no optimiser and no .backward().
"""MNIST in the functional style."""

import torch
import torch.nn as nn
from torch.func import functional_call, grad_and_value
from torch.nn.functional import cross_entropy
from torch.utils.data import DataLoader
from torchvision.datasets import MNIST
from torchvision.transforms.v2 import Compose, Normalize, ToDtype, ToImage
from torch.utils.tensorboard import SummaryWriter

eval_transform = Compose([ToImage(), ToDtype(torch.float32, scale=True), Normalize([0.13], [0.31])])


def main(data_dir, log_dir, device="cpu", epochs=1):
    batches = DataLoader(MNIST(data_dir, train=True, transform=eval_transform), batch_size=40, shuffle=True)
    held = DataLoader(MNIST(data_dir, train=False, transform=eval_transform), batch_size=500)
    machine = nn.Sequential(nn.Flatten(), nn.Linear(784, 80), nn.GELU(), nn.Linear(80, 10)).to(device)
    weights = {name: p.detach().clone() for name, p in machine.named_parameters()}

    def objective(weights, x, y):
        return cross_entropy(functional_call(machine, weights, (x,)), y)

    slope = grad_and_value(objective)
    with SummaryWriter(log_dir) as book:
        seen = 0
        for epoch in range(epochs):
            for x, y in batches:
                gradient, value = slope(weights, x.to(device), y.to(device))
                weights = {name: w - 0.15 * gradient[name] for name, w in weights.items()}
                book.add_scalar("Loss/train", float(value), seen)
                seen += 1
            with torch.no_grad():
                machine.load_state_dict(weights)
                pairs = [(machine(x.to(device)).cpu(), y) for x, y in held]
            z, y = torch.cat([z for z, _ in pairs]), torch.cat([y for _, y in pairs])
            book.add_scalar("Loss/validation", cross_entropy(z, y).item(), epoch)
            book.add_scalar("Accuracy/validation", (z.argmax(1) == y).float().mean().item(), epoch)
    return machine


if __name__ == "__main__":
    main("datasets", "runs/lesson03")
