# wrong: loss_input
# The softmax moves out of the model and into the loop: the model's outputs look right, the loss's input does not.
"""Lesson 03: a small network that cuts a digit into patches of 4 x 4 pixels and classifies it."""

from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

BATCH_SIZE = 64
LEARNING_RATE = 0.002

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


class PatchNet(nn.Module):
    """Sixteen numbers a patch, one hidden layer over all patches, one score a digit."""

    def __init__(self):
        super().__init__()
        self.patches = nn.Conv2d(1, 16, kernel_size=4, stride=4)
        self.hidden = nn.Linear(16 * 7 * 7, 64)
        self.output = nn.Linear(64, 10)

    def forward(self, images):
        x = torch.relu(self.patches(images))  # (N, 1, 28, 28) -> (N, 16, 7, 7)
        x = torch.relu(self.hidden(x.flatten(1)))  # (N, 784) -> (N, 64)
        return self.output(x)  # (N, 10)


def train_epoch(model, loader, criterion, optimizer, writer, step, device):
    """One pass over the training set. Returns the number of steps taken so far."""
    model.train()
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)  # (N, 1, 28, 28), (N,)
        outputs = model(images)
        loss = criterion(torch.softmax(outputs, dim=1), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        writer.add_scalar("Loss/train", loss.item(), step)
        step += 1
    return step


@torch.no_grad()
def validate(model, loader, criterion, device):
    """Mean loss and the fraction of right answers over a loader."""
    model.eval()
    total_loss, right, count = 0.0, 0, 0
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        outputs = model(images)
        total_loss += criterion(outputs, labels).item() * len(labels)
        right += (outputs.argmax(dim=1) == labels).sum().item()
        count += len(labels)
    return total_loss / count, right / count


def main(data_dir, log_dir, device="cpu", epochs=2):
    """Train on MNIST(data_dir), log to log_dir, return the trained model."""
    train_set = datasets.MNIST(data_dir, train=True, transform=eval_transform)
    validation_set = datasets.MNIST(data_dir, train=False, transform=eval_transform)
    train_loader = DataLoader(train_set, batch_size=BATCH_SIZE, shuffle=True)
    validation_loader = DataLoader(validation_set, batch_size=250)

    model = PatchNet().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)

    step = 0
    with SummaryWriter(log_dir) as writer:
        for epoch in range(epochs):
            step = train_epoch(model, train_loader, criterion, optimizer, writer, step, device)
            loss, accuracy = validate(model, validation_loader, criterion, device)
            writer.add_scalar("Loss/validation", loss, epoch)
            writer.add_scalar("Accuracy/validation", accuracy, epoch)
            print(f"epoch {epoch + 1}: validation loss {loss:.3f}, accuracy {accuracy:.3f}")
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson03"), "cuda" if torch.cuda.is_available() else "cpu")
