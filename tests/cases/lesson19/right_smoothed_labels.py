# right
# Logits, flat shapes, and labels of 0.05 and 0.95: still a cross-entropy of each image with its own label.
"""Lesson 19: one question about every digit: is it a 7?"""

from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

WANTED = 7
BATCH_SIZE = 50
CALIBRATION = 1.0  # weight of the Brier term

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


class Sevens(Dataset):
    """MNIST with another label: 1.0 for the wanted digit, 0.0 for the nine others."""

    def __init__(self, data_dir, train):
        self.digits = datasets.MNIST(data_dir, train=train, transform=eval_transform)

    def __len__(self):
        return len(self.digits)

    def __getitem__(self, i):
        image, digit = self.digits[i]
        return image, torch.tensor(float(digit == WANTED))


def seven_net():
    """Two convolutions and one output unit."""
    return nn.Sequential(
        nn.Conv2d(1, 8, kernel_size=5, stride=2),  # (N, 1, 28, 28) -> (N, 8, 12, 12)
        nn.ReLU(),
        nn.Conv2d(8, 16, kernel_size=5, stride=2),  # (N, 16, 4, 4)
        nn.ReLU(),
        nn.Flatten(),  # (N, 256)
        nn.Linear(256, 1),
    )


class Objective(nn.Module):
    """Cross-entropy finds the sevens, a Brier term keeps the probabilities honest."""

    def __init__(self):
        super().__init__()
        self.cross_entropy = nn.BCEWithLogitsLoss()
        self.brier = nn.MSELoss()

    def forward(self, scores, wanted):
        scores = scores.flatten()
        wanted = 0.05 + 0.9 * wanted
        return self.cross_entropy(scores, wanted) + CALIBRATION * self.brier(torch.sigmoid(scores), wanted)


@torch.no_grad()
def validate(model, loader, objective, device):
    """Mean loss, and the share that is recognised of the sevens and of the others."""
    model.eval()
    loss_sum, hits, totals = 0.0, {True: 0, False: 0}, {True: 0, False: 0}
    for images, wanted in loader:
        images, wanted = images.to(device), wanted.to(device)
        scores = model(images)
        loss_sum += objective(scores, wanted).item() * len(wanted)
        said, true = scores.flatten() > 0, wanted > 0.5
        for kind in (True, False):
            hits[kind] += ((said == kind) & (true == kind)).sum().item()
            totals[kind] += (true == kind).sum().item()
    return loss_sum / len(loader.dataset), hits[True] / totals[True], hits[False] / totals[False]


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train on MNIST(data_dir), log to log_dir, return the trained model."""
    train_loader = DataLoader(Sevens(data_dir, train=True), batch_size=BATCH_SIZE, shuffle=True)
    valid_loader = DataLoader(Sevens(data_dir, train=False), batch_size=250)
    model, objective = seven_net().to(device), Objective()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    step = 0
    with SummaryWriter(log_dir) as writer:
        for epoch in range(1, epochs + 1):
            model.train()
            for images, wanted in train_loader:
                loss = objective(model(images.to(device)), wanted.to(device))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                writer.add_scalar("Loss/train", loss.item(), step)
                step += 1
            loss, sevens, others = validate(model, valid_loader, objective, device)
            writer.add_scalar("Loss/validation", loss, epoch)
            writer.add_scalar("Accuracy/validation", (sevens + others) / 2, epoch)  # balanced: only one image in ten is a 7
            print(f"epoch {epoch}: validation loss {loss:.3f}, recognised: {sevens:.3f} of the sevens, {others:.3f} of the others")
    return model


if __name__ == "__main__":
    COURSE = Path(__file__).resolve().parents[2]
    torch.manual_seed(0)
    main(str(COURSE / "datasets"), str(COURSE / "runs" / "lesson19"), device="cuda" if torch.cuda.is_available() else "cpu", epochs=2)
