# right
# Drawn anew in each epoch, and every image is turned, moved, scaled and now and then partly erased: which image of the file it was cannot always be told, its digit can.
"""Lesson 16: a network of two layers on images that are never the same twice."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms
from torchvision.transforms import v2

MEAN, STD = 0.1307, 0.3081
eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((MEAN,), (STD,))])
vary = v2.Compose(
    [v2.RandomAffine(12, translate=(0.1, 0.1), scale=(0.85, 1.15), fill=-MEAN / STD), v2.RandomErasing(0.3, scale=(0.02, 0.1), value=-MEAN / STD)]
)


def read_folders(data_dir, train):
    """Images and labels, one digit after the other, as the folders give them."""
    split = datasets.MNIST(data_dir, train=train)
    order = torch.argsort(split.targets, stable=True)
    return (split.data[order].unsqueeze(1).float() / 255 - MEAN) / STD, split.targets[order]


def main(data_dir, log_dir, device="cpu", epochs=2):
    """Train on varied images in a random order, validate on the plain ones."""
    images, labels = (t.to(device) for t in read_folders(data_dir, train=True))
    held_out, truth = (t.to(device) for t in read_folders(data_dir, train=False))
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step = 0
    with SummaryWriter(log_dir) as writer:
        for _ in range(epochs):
            for part in torch.randperm(len(labels)).split(40):
                loss = F.cross_entropy(model(torch.stack([vary(image) for image in images[part]])), labels[part])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                writer.add_scalar("Loss/train", loss.item(), step)
                step += 1
            with torch.no_grad():
                logits = model(held_out)
            writer.add_scalar("Loss/validation", F.cross_entropy(logits, truth).item(), step)
            writer.add_scalar("Accuracy/validation", (logits.argmax(dim=1) == truth).float().mean().item(), step)
    return model
