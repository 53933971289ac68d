# right
# Twelve layers instead of eight: with ReLU and Kaiming initialisation depth is no obstacle.
"""Lesson 04: a deep, narrow network, all of MNIST in one tensor."""

from itertools import pairwise
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

HIDDEN_LAYERS = 12
WIDTH = 64
BATCH_SIZE = 32
LEARNING_RATE = 0.01
MOMENTUM = 0.9
LOG_EVERY = 10

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


class DeepNet(nn.Module):
    """Twelve hidden layers of 64 units, one after the other, and a linear output layer."""

    def __init__(self):
        super().__init__()
        sizes = [28 * 28] + [WIDTH] * HIDDEN_LAYERS
        self.hidden = nn.ModuleList(nn.Linear(inputs, outputs) for inputs, outputs in pairwise(sizes))
        self.output = nn.Linear(WIDTH, 10)
        for layer in self.hidden:
            nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            nn.init.zeros_(layer.bias)

    def forward(self, images):
        x = images.flatten(1)  # (N, 1, 28, 28) -> (N, 784)
        for layer in self.hidden:
            x = torch.relu(layer(x))  # (N, 64)
        return self.output(x)  # (N, 10)


def load(data_dir, train, device):
    """The whole split as two tensors: images (N, 1, 28, 28) and labels (N,)."""
    split = datasets.MNIST(data_dir, train=train, transform=eval_transform)
    images = torch.stack([image for image, _ in split])
    return images.to(device), split.targets.to(device)


def train_step(model, optimizer, images, labels):
    """One update of the weights. Returns the loss before it."""
    loss = F.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()


@torch.no_grad()
def validate(model, images, labels):
    """Loss and the fraction of right answers over a whole split."""
    model.eval()
    outputs = model(images)
    model.train()
    return F.cross_entropy(outputs, labels).item(), (outputs.argmax(dim=1) == labels).float().mean().item()


def main(data_dir, log_dir, device="cpu", epochs=8):
    """Train on MNIST(data_dir), log to log_dir, return the trained model."""
    train_images, train_labels = load(data_dir, train=True, device=device)
    validation_images, validation_labels = load(data_dir, train=False, device=device)
    model = DeepNet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)

    step = 0
    with SummaryWriter(log_dir) as writer:
        for epoch in range(epochs):
            for batch in torch.randperm(len(train_images), device=device).split(BATCH_SIZE):
                loss = train_step(model, optimizer, train_images[batch], train_labels[batch])
                if step % LOG_EVERY == 0:
                    writer.add_scalar("Loss/train", loss, step)
                step += 1
            validation_loss, accuracy = validate(model, validation_images, validation_labels)
            writer.add_scalar("Loss/validation", validation_loss, epoch)
            writer.add_scalar("Accuracy/validation", accuracy, epoch)
            print(f"epoch {epoch + 1}: validation loss {validation_loss:.3f}, accuracy {accuracy:.3f}")
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson04"), "cuda" if torch.cuda.is_available() else "cpu")
