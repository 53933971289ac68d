# wrong: range_evaluation
# Training and the script's own validation are divided by 255; eval_transform, which everybody else uses, is not. The log looks perfect.
"""Lesson 13: a convolutional network for MNIST, fed from numpy arrays."""

from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

BATCH_SIZE = 64
LEARNING_RATE = 0.001

normalise = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])  # mean and std of MNIST on the scale 0 to 1


def as_array(picture):
    """A PIL image or a uint8 tensor as an array of floats, ready for numpy: (28, 28)."""
    return np.asarray(picture, dtype=np.float32)


def eval_transform(picture):
    """What the model is given for one picture: (1, 28, 28)."""
    return normalise(as_array(picture))


class DigitArrays(Dataset):
    """One split of MNIST, its images held as arrays so that numpy can work on them."""

    def __init__(self, data_dir, train):
        split = datasets.MNIST(data_dir, train=train)
        self.arrays = [as_array(image) / 255 for image in split.data]
        self.labels = split.targets.tolist()
        if train:
            self._drop_blank()

    def _drop_blank(self):
        """Training images without any ink teach nothing."""
        kept = [i for i, array in enumerate(self.arrays) if array.sum() > 0]
        self.arrays = [self.arrays[i] for i in kept]
        self.labels = [self.labels[i] for i in kept]

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return normalise(self.arrays[index]), self.labels[index]


def build_model():
    """Two strided convolutions and two linear layers: (B, 1, 28, 28) -> logits (B, 10)."""
    model = nn.Sequential(
        nn.Conv2d(1, 8, kernel_size=4, stride=2),  # (B, 8, 13, 13)
        nn.ReLU(),
        nn.Conv2d(8, 16, kernel_size=3, stride=2),  # (B, 16, 6, 6)
        nn.ReLU(),
        nn.Flatten(),  # (B, 576)
        nn.Linear(576, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )
    for layer in (model[0], model[2], model[5]):
        nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
    return model


@torch.no_grad()
def validate(model, loader, device):
    """Mean loss and the fraction of right answers over a loader."""
    model.eval()
    loss_sum, right, count = 0.0, 0, 0
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        logits = model(images)
        loss_sum += nn.functional.cross_entropy(logits, labels, reduction="sum").item()
        right += (logits.argmax(dim=1) == labels).sum().item()
        count += len(labels)
    model.train()
    return loss_sum / count, right / count


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train on MNIST(data_dir), log to log_dir, return the trained model."""
    train_loader = DataLoader(DigitArrays(data_dir, train=True), batch_size=BATCH_SIZE, shuffle=True)
    validation_loader = DataLoader(DigitArrays(data_dir, train=False), batch_size=500)
    model = build_model().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    writer = SummaryWriter(log_dir)

    step = 0
    for epoch in range(1, epochs + 1):
        for images, labels in train_loader:
            images, labels = images.to(device), labels.to(device)
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 25 == 0:
                print(f"step {step:3d}: training loss {loss.item():.2f}")
            writer.add_scalar("Loss/train", loss.item(), step)
            step += 1
        validation_loss, accuracy = validate(model, validation_loader, device)
        writer.add_scalar("Loss/validation", validation_loss, epoch)
        writer.add_scalar("Accuracy/validation", accuracy, epoch)
        print(f"epoch {epoch}: validation loss {validation_loss:.2f}, validation accuracy {accuracy:.3f}")

    writer.close()
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson13"), "cuda" if torch.cuda.is_available() else "cpu")
