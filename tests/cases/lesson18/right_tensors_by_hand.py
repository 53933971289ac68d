# right
# Tensors in memory, no loader, no optimiser object, torch.func for the gradients; shifts and a little noise on the training batches only.
"""Lesson 18: tensors, weights in a dictionary, and a loop by hand."""

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad_and_value
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms import ToTensor

eval_transform = ToTensor()


def disturbed(images):
    """Shifted by up to two pixels, with a little noise."""
    down, across = torch.randint(-2, 3, (2,)).tolist()
    return images.roll((down, across), dims=(-2, -1)) + 0.05 * torch.randn_like(images)


def main(data_dir, log_dir, device="cpu", epochs=2):
    digits = MNIST(data_dir, train=True)
    images, labels = digits.data.unsqueeze(1).float().div(255).to(device), digits.targets.to(device)
    net = nn.Sequential(nn.Flatten(), nn.Linear(784, 100), nn.ReLU(), nn.Linear(100, 10)).to(device)
    weights = dict(net.named_parameters())
    slopes_and_loss = grad_and_value(lambda w, x, y: F.cross_entropy(functional_call(net, w, (x,)), y))
    step = 0
    with SummaryWriter(log_dir) as log:
        for epoch in range(epochs):
            for rows in torch.randperm(8000).split(32):
                slopes, loss = slopes_and_loss(weights, disturbed(images[rows]), labels[rows])
                with torch.no_grad():
                    for name, slope in slopes.items():
                        weights[name] -= 0.15 * slope
                log.add_scalar("Loss/train", loss.item(), step)
                step += 1
            with torch.no_grad():
                scores = net(images[8000:])
            log.add_scalar("Loss/validation", F.cross_entropy(scores, labels[8000:]).item(), epoch)
            log.add_scalar("Accuracy/validation", (scores.argmax(1) == labels[8000:]).float().mean().item(), epoch)
    return net


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson18"))
