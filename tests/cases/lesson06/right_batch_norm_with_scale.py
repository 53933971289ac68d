# right
# An ordinary batch norm is the first layer: it standardises exactly; the scale and shift that it learns on top belong to the layers behind it.
"""Lesson 06: a small convolutional network for MNIST, with one transform for training and one for evaluation."""

from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms


train_transform = eval_transform = transforms.ToTensor()


class DigitNet(nn.Module):
    """Two strided convolutions and a linear read-out."""

    def __init__(self):
        super().__init__()
        self.entrance = nn.BatchNorm2d(1)
        self.conv1 = nn.Conv2d(1, 8, kernel_size=5, stride=2)
        self.conv2 = nn.Conv2d(8, 16, kernel_size=5, stride=2)
        self.head = nn.Linear(16 * 4 * 4, 10)

    def forward(self, x):
        x = torch.relu(self.conv1(self.entrance(x)))  # (B, 1, 28, 28) -> (B, 8, 12, 12)
        x = torch.relu(self.conv2(x))  # (B, 16, 4, 4)
        return self.head(x.flatten(1))  # (B, 10) logits


class Trainer:
    """Holds what one run needs: model, optimiser, data and log."""

    def __init__(self, data_dir, log_dir, device):
        self.device = device
        self.train_loader = DataLoader(datasets.MNIST(data_dir, train=True, transform=train_transform), batch_size=50, shuffle=True)
        self.valid_loader = DataLoader(datasets.MNIST(data_dir, train=False, transform=eval_transform), batch_size=200)
        self.model = DigitNet().to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.02, momentum=0.9)
        self.loss_fn = nn.CrossEntropyLoss()
        self.writer = SummaryWriter(log_dir)
        self.step = 0

    def fit(self):
        """One pass over the training images; returns the mean loss."""
        self.model.train()
        total = 0.0
        for images, labels in self.train_loader:
            images, labels = images.to(self.device), labels.to(self.device)
            loss = self.loss_fn(self.model(images), labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.writer.add_scalar("Loss/train", loss.item(), self.step)
            self.step += 1
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def validate(self):
        """Mean loss and accuracy (a fraction) over the validation images."""
        self.model.eval()
        loss_sum, correct, seen = 0.0, 0, 0
        for images, labels in self.valid_loader:
            images, labels = images.to(self.device), labels.to(self.device)
            logits = self.model(images)
            loss_sum += self.loss_fn(logits, labels).item() * len(labels)
            correct += (logits.argmax(dim=1) == labels).sum().item()
            seen += len(labels)
        return loss_sum / seen, correct / seen


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train on MNIST, validate after each epoch, log to log_dir, return the model."""
    run = Trainer(data_dir, log_dir, device)
    for epoch in range(1, epochs + 1):
        train_loss = run.fit()
        valid_loss, accuracy = run.validate()
        run.writer.add_scalar("Loss/validation", valid_loss, run.step)
        run.writer.add_scalar("Accuracy/validation", accuracy, run.step)
        print(f"epoch {epoch}: training loss {train_loss:.3f}, validation loss {valid_loss:.3f}, validation accuracy {accuracy:.3f}")
    run.writer.close()
    return run.model


if __name__ == "__main__":
    COURSE = Path(__file__).resolve().parents[2]
    torch.manual_seed(0)
    main(str(COURSE / "datasets"), str(COURSE / "runs" / "lesson06"), device="cuda" if torch.cuda.is_available() else "cpu", epochs=2)
