# wrong: held_back
# Within an epoch the two parts are disjoint; but each epoch draws new ones, and what is validated on has been trained on an epoch ago.
"""Lesson 15: a perceptron, with another held-back part in every epoch."""

from pathlib import Path

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


def tensors(data_dir, train):
    """Images (N, 784) and labels (N,)."""
    mnist = datasets.MNIST(data_dir, train=train)
    return (mnist.data.unsqueeze(1).float() / 255 - 0.1307) / 0.3081, mnist.targets


def main(data_dir, log_dir, device="cpu", epochs=6):
    """Train, log to log_dir, return the model."""
    images, labels = tensors(data_dir, train=True)
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 10)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    step = 0
    writer = SummaryWriter(log_dir)
    for epoch in range(epochs):
        order = torch.randperm(len(images))
        training, validation = order[2000:], order[:2000]
        for rows in training.split(50):
            loss = nn.functional.cross_entropy(model(images[rows].to(device)), labels[rows].to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            writer.add_scalar("Loss/train", loss.item(), step)
            step += 1
        with torch.no_grad():
            logits = model(images[validation].to(device)).cpu()
        writer.add_scalar("Loss/validation", nn.functional.cross_entropy(logits, labels[validation]).item(), epoch)
        writer.add_scalar("Accuracy/validation", (logits.argmax(1) == labels[validation]).float().mean().item(), epoch)
    images, labels = tensors(data_dir, train=False)
    with torch.no_grad():
        accuracy = (model(images.to(device)).argmax(1).cpu() == labels).float().mean().item()
    writer.add_scalar("Accuracy/test", accuracy, epochs)
    writer.close()
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson15"))
