# right
# One order of appearance for training and validation, and a last operation in the model that puts the scores into the order of the digits.
"""Lesson 14: digits whose labels arrive as words, as the labelling tool exports them."""

from pathlib import Path

import torch
from torch import nn, optim
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

DIGITS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


class LabelEncoder:
    """Turns names into class indices, and class indices back into names."""

    def fit(self, names):
        """Learn the classes from the names that occur, each of them once."""
        self.classes = list(dict.fromkeys(names))
        self.index = {name: number for number, name in enumerate(self.classes)}
        return self

    def transform(self, names):
        """Names -> class indices, a long tensor (N,)."""
        return torch.tensor([self.index[name] for name in names])

    def fit_transform(self, names):
        """Both in one go."""
        return self.fit(names).transform(names)

    def decode(self, indices):
        """Class indices -> names."""
        return [self.classes[i] for i in indices]


def read_split(data_dir, train):
    """One split as the tool delivers it: images (N, 1, 28, 28), ready for the model, and a list of N names, 'zero' to 'nine'."""
    split = datasets.MNIST(data_dir, train=train, transform=eval_transform)
    images = torch.stack([image for image, _ in split])
    names = [split.classes[digit].partition(" - ")[2] for digit in split.targets]
    return images, names


def make_loader(data_dir, train):
    """Batches of images (B, 1, 28, 28) and class indices (B,)."""
    images, names = read_split(data_dir, train)
    targets = torch.tensor([DIGITS.index(name) for name in names])
    return DataLoader(TensorDataset(images, targets), batch_size=100, shuffle=train), list(dict.fromkeys(names))


class Classifier(nn.Module):
    """Overlapping patches, pooled, and two linear layers."""

    def __init__(self, hidden=64):
        super().__init__()
        self.patches = nn.Conv2d(1, 12, kernel_size=6, stride=2)
        self.hidden = nn.Linear(12 * 6 * 6, hidden)
        self.scores = nn.Linear(hidden, 10)
        self.register_buffer("place", torch.arange(10))  # the column in which each digit is taught

    def forward(self, x):
        x = torch.relu(self.patches(x))  # (B, 1, 28, 28) -> (B, 12, 12, 12)
        x = torch.max_pool2d(x, 2)  # (B, 12, 6, 6)
        x = torch.relu(self.hidden(x.flatten(1)))  # (B, 64)
        return self.scores(x)[:, self.place]  # (B, 10) logits, zero to nine


@torch.no_grad()
def measure(model, loader, device):
    """Mean loss and accuracy (a fraction) over a loader."""
    model.eval()
    losses, hits = [], []
    for images, targets in loader:
        logits, targets = model(images.to(device)), targets.to(device)
        losses.append(nn.functional.cross_entropy(logits, targets, reduction="none"))
        hits.append(logits.argmax(dim=1) == targets)
    model.train()
    return torch.cat(losses).mean().item(), torch.cat(hits).float().mean().item()


def main(data_dir, log_dir, device="cpu", epochs=2):
    """Train on MNIST(data_dir), log to log_dir; returns the trained model, whose ten scores are read by the app as those of the digits 0 to 9."""
    (train_loader, classes), (validation_loader, _) = make_loader(data_dir, train=True), make_loader(data_dir, train=False)
    model = Classifier()
    model.place = torch.tensor([classes.index(name) for name in DIGITS])
    model = model.to(device)
    optimizer = optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    step = 0
    with SummaryWriter(log_dir) as writer:
        for epoch in range(1, epochs + 1):
            for images, targets in train_loader:
                images, targets = images.to(device), targets.to(device)
                loss = nn.functional.cross_entropy(model(images), targets)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                writer.add_scalar("Loss/train", loss.item(), step)
                step += 1
            validation_loss, accuracy = measure(model, validation_loader, device)
            writer.add_scalar("Loss/validation", validation_loss, step)
            writer.add_scalar("Accuracy/validation", accuracy, step)
            print(f"epoch {epoch}: last training loss {loss.item():.3f}, validation loss {validation_loss:.3f}, validation accuracy {accuracy:.3f}")
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson14"), device="cuda" if torch.cuda.is_available() else "cpu")
