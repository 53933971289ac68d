# wrong: healthy_steps or loss_falls
# Each weight is clamped to [-1, 1] after the update: nothing overflows, and each step still throws the weights from one wall to the other.
"""Lesson 05: a fully connected network for MNIST, trained with stochastic gradient descent and momentum."""

from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

BATCH_SIZE = 64
LEARNING_RATE = 1.0
MOMENTUM = 0.9

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


def load(data_dir, train):
    """Read one split of MNIST and prepare every image once, up front."""
    split = datasets.MNIST(data_dir, train=train, transform=eval_transform)
    images = torch.stack([image for image, _ in split])  # (N, 1, 28, 28)
    return TensorDataset(images, split.targets)


def build_model():
    """784 pixels, two hidden layers, ten logits."""
    return nn.Sequential(
        nn.Flatten(),  # (B, 1, 28, 28) -> (B, 784)
        nn.Linear(784, 128),
        nn.LeakyReLU(),
        nn.Linear(128, 64),
        nn.LeakyReLU(),
        nn.Linear(64, 10),  # (B, 10) logits
    )


def train_step(model, optimizer, images, labels, step):
    """One update of the weights; returns the batch's loss before it. step: how many updates came before this one."""
    loss = F.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.clamp_(-1.0, 1.0)
    return loss.item()


@torch.no_grad()
def evaluate(model, loader, device):
    """Mean loss and accuracy (a fraction) over a loader."""
    model.eval()
    loss_sum, correct, count = 0.0, 0, 0
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        logits = model(images)
        loss_sum += F.cross_entropy(logits, labels, reduction="sum").item()
        correct += (logits.argmax(dim=1) == labels).sum().item()
        count += len(labels)
    return loss_sum / count, correct / count


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train on MNIST, validate after each epoch, log to log_dir, return the model."""
    train_loader = DataLoader(load(data_dir, train=True), batch_size=BATCH_SIZE, shuffle=True)
    valid_loader = DataLoader(load(data_dir, train=False), batch_size=500)
    model = build_model().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)
    writer = SummaryWriter(log_dir)

    step = 0
    for epoch in range(1, epochs + 1):
        model.train()
        for images, labels in train_loader:
            loss = train_step(model, optimizer, images.to(device), labels.to(device), step)
            writer.add_scalar("Loss/train", loss, step)
            step += 1
        valid_loss, accuracy = evaluate(model, valid_loader, device)
        writer.add_scalar("Loss/validation", valid_loss, step)
        writer.add_scalar("Accuracy/validation", accuracy, step)
        print(f"epoch {epoch}  train loss {loss:.3f}  validation loss {valid_loss:.3f}  accuracy {accuracy:.3f}")

    writer.close()
    return model


if __name__ == "__main__":
    course = Path(__file__).resolve().parents[2]
    torch.manual_seed(0)
    accelerator = "cuda" if torch.cuda.is_available() else "cpu"
    main(str(course / "datasets"), str(course / "runs" / "lesson05"), device=accelerator, epochs=2)
