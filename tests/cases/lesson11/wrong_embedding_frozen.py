# wrong: none_frozen
# The embedding is frozen, so that the centres have no graph to carry along: only the classifier learns, on random features.
"""Lesson 11: a small convolutional network whose features are drawn towards one centre for each digit (Wen et al., 2016)."""

from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import transforms
from torchvision.datasets import MNIST

FEATURES = 32
LEARNING_RATE = 0.02
PULL = 0.02  # weight of the distance from the centres
SLOWEST = 0.05  # share of a batch in a centre, once the centre has seen many

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


class DigitNet(nn.Module):
    """An embedding of the image in 32 features, and a linear classifier of these."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Sequential(
            nn.Conv2d(1, 8, kernel_size=5, stride=2),  # (B, 8, 12, 12)
            nn.ReLU(),
            nn.Conv2d(8, 16, kernel_size=5, stride=2),  # (B, 16, 4, 4)
            nn.ReLU(),
            nn.Flatten(),
            nn.Linear(16 * 4 * 4, FEATURES),
            nn.Tanh(),  # (B, 32)
        )
        self.classify = nn.Linear(FEATURES, 10)

    def forward(self, images):
        return self.classify(self.embed(images))  # (B, 10)


class Centres:
    """For each digit the running mean of its features, over all batches so far: the place where its images should gather."""

    def __init__(self, device):
        self.points = torch.zeros(10, FEATURES, device=device)
        self.seen = torch.zeros(10, 1, device=device)  # images of each digit

    def follow(self, features, labels):
        """Move the centres towards this batch's features: at first by the exact mean, later by a twentieth of the way."""
        members = F.one_hot(labels, 10).T.float()  # (10, B)
        count = members.sum(dim=1, keepdim=True)  # (10, 1)
        self.seen += count
        rate = (count / self.seen.clamp(min=1)).clamp(min=SLOWEST) * (count > 0)
        means = members @ features / count.clamp(min=1)  # (10, 32)
        self.points = self.points + rate * (means - self.points)

    def distance(self, features, labels):
        """Mean squared distance of a batch's features (B, 32) from the centres of their digits."""
        spread = (features - self.points[labels]).square().sum(dim=1).mean()
        self.follow(features, labels)
        return spread


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
    model.train()
    return loss_sum / count, correct / count


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train on MNIST, validate after each epoch, log to log_dir, return the model."""
    train_loader = DataLoader(MNIST(data_dir, train=True, transform=eval_transform), batch_size=64, shuffle=True)
    valid_loader = DataLoader(MNIST(data_dir, train=False, transform=eval_transform), batch_size=500)
    model = DigitNet().to(device)
    model.embed.requires_grad_(False)
    centres = Centres(device)
    optimizer = optim.Adam(model.parameters(), lr=LEARNING_RATE)
    writer = SummaryWriter(log_dir)

    step, smooth = 0, 2.3
    for epoch in range(1, epochs + 1):
        for images, labels in train_loader:
            images, labels = images.to(device), labels.to(device)  # (B, 1, 28, 28), (B,)
            features = model.embed(images)
            loss = F.cross_entropy(model.classify(features), labels) + PULL * centres.distance(features, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            smooth = 0.95 * smooth + 0.05 * loss.item()
            writer.add_scalar("Loss/train", smooth, step)
            step += 1
        valid_loss, accuracy = evaluate(model, valid_loader, device)
        writer.add_scalar("Loss/validation", valid_loss, step)
        writer.add_scalar("Accuracy/validation", accuracy, step)
        print(f"epoch {epoch}: training loss {smooth:.3f}, validation loss {valid_loss:.3f}, accuracy {accuracy:.3f}")
    writer.close()
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson11"), device="cuda" if torch.cuda.is_available() else "cpu")
