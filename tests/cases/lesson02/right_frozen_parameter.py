# right
# The constants are frozen parameters: they follow the model; a buffer would say more clearly that nobody trains them.
"""Train a strided convolutional network on MNIST, on whatever device it is given: python exercises/lesson02/train.py."""

from collections.abc import Iterator
from pathlib import Path

import torch
from torch import nn, optim
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

BATCH_SIZE = 64
LEARNING_RATE = 0.03
PIXEL_MEAN, PIXEL_STD = 0.1307, 0.3081  # of all MNIST training pixels, on the scale 0 to 1

eval_transform = transforms.ToTensor()  # PIL image -> (1, 28, 28), values from 0 to 1


class Classifier(nn.Module):
    """Standardise the pixels, then two strided convolutions and a linear head: (B, 1, 28, 28) -> logits (B, 10)."""

    def __init__(self) -> None:
        super().__init__()
        self.mean = nn.Parameter(torch.full((1, 1, 1, 1), PIXEL_MEAN), requires_grad=False)
        self.std = nn.Parameter(torch.full((1, 1, 1, 1), PIXEL_STD), requires_grad=False)
        self.layers = nn.Sequential(
            nn.Conv2d(1, 8, kernel_size=3, stride=2),  # (B, 8, 13, 13)
            nn.ReLU(),
            nn.Conv2d(8, 16, kernel_size=3, stride=2),  # (B, 16, 6, 6)
            nn.ReLU(),
            nn.Flatten(),  # (B, 576)
            nn.Linear(16 * 6 * 6, 10),
        )

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        """Return the logits of a batch of images."""
        return self.layers((pixels - self.mean) / self.std)


def batches(loader: DataLoader, device: str) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """Yield the loader's batches: images (B, 1, 28, 28) and labels (B,)."""
    for images, labels in loader:
        yield images.to(device), labels.to(device)


@torch.no_grad()
def evaluate(model: nn.Module, loader: DataLoader, device: str) -> tuple[float, float]:
    """Return the mean loss and the accuracy (0 to 1) over the whole loader."""
    model.eval()
    criterion = nn.CrossEntropyLoss(reduction="sum")
    loss_sum, hits, seen = 0.0, 0, 0
    for images, labels in batches(loader, device):
        logits = model(images)
        loss_sum += criterion(logits, labels).item()
        hits += (logits.argmax(1) == labels).sum().item()
        seen += len(labels)
    model.train()
    return loss_sum / seen, hits / seen


def main(data_dir: str, log_dir: str, device: str = "cpu", epochs: int = 1) -> nn.Module:
    """Train on MNIST(data_dir) on `device`, log to log_dir and return the trained model."""
    train_loader = DataLoader(datasets.MNIST(data_dir, train=True, transform=eval_transform), BATCH_SIZE, shuffle=True)
    validation_loader = DataLoader(datasets.MNIST(data_dir, train=False, transform=eval_transform), batch_size=250)

    model = Classifier().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=LEARNING_RATE, momentum=0.9)
    writer = SummaryWriter(log_dir)

    for epoch in range(epochs):
        for i, (images, labels) in enumerate(batches(train_loader, device)):
            optimizer.zero_grad()
            loss = criterion(model(images), labels)
            loss.backward()
            optimizer.step()
            writer.add_scalar("Loss/train", loss.item(), epoch * len(train_loader) + i)
        validation_loss, accuracy = evaluate(model, validation_loader, device)
        writer.add_scalar("Loss/validation", validation_loss, epoch)
        writer.add_scalar("Accuracy/validation", accuracy, epoch)
        print(f"epoch {epoch}: validation loss {validation_loss:.3f}, accuracy {accuracy:.3f}")

    writer.close()
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    root = Path(__file__).resolve().parents[2]
    chosen = "cuda" if torch.cuda.is_available() else "cpu"
    print(f"training on {chosen}")
    main(str(root / "datasets"), str(root / "runs" / "lesson02"), device=chosen)
