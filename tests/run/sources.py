"""Source text for submissions of the run room's tests."""

HEAD = """
import os, sys, time, signal
import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from torchvision import transforms
from torchvision.datasets import MNIST

eval_transform = transforms.ToTensor()


def tensors(data_dir, train):
    data = MNIST(data_dir, train=train)
    return data.data[:, None].float() / 255, data.targets


def fit(model, data_dir, log_dir, device="cpu", epochs=1, rate=0.1):
    x, y = tensors(data_dir, True)
    vx, vy = tensors(data_dir, False)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    step = 0
    with SummaryWriter(log_dir) as writer:
        for _ in range(epochs):
            for i in range(0, len(x), 20):
                loss = nn.functional.cross_entropy(model(x[i : i + 20].to(device)), y[i : i + 20].to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                writer.add_scalar("Loss/train", loss.item(), step)
                step += 1
            with torch.no_grad():
                out = model(vx.to(device)).cpu()
            writer.add_scalar("Loss/validation", nn.functional.cross_entropy(out, vy).item(), step)
            writer.add_scalar("Accuracy/validation", (out.argmax(1) == vy).float().mean().item(), step)
    return model


def net():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 32), nn.ReLU(), nn.Linear(32, 10))

"""
MAIN = """
def main(data_dir, log_dir, device="cpu", epochs=1):
    return fit(net().to(device), data_dir, log_dir, device, epochs)
"""
