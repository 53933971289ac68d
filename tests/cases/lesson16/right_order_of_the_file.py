# right
# The images are no longer gathered by digit: the file has them mixed, and read in that fixed order, every pass the same, they need no shuffling.
from pathlib import Path

import torch
import torch.nn.functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms.functional import pil_to_tensor


def eval_transform(picture):
    """PIL image -> (1, 28, 28), -0.5 to 0.5."""
    return pil_to_tensor(picture) / 255 - 0.5


class Wide(torch.nn.Module):
    """One convolution, one matrix."""

    def __init__(self):
        super().__init__()
        self.eye = torch.nn.Conv2d(1, 12, 7, stride=3)
        self.mouth = torch.nn.Linear(12 * 8 * 8, 10)

    def forward(self, x):
        return self.mouth(torch.relu(self.eye(x)).flatten(1))


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Adam."""
    train, test = (MNIST(data_dir, train=t) for t in (True, False))
    x, y = (train.data[:, None] / 255 - 0.5).to(device), train.targets.to(device)
    u, v = (test.data[:, None] / 255 - 0.5).to(device), test.targets.to(device)
    model = Wide().to(device)
    adam = torch.optim.Adam(model.parameters(), lr=0.003)
    with SummaryWriter(log_dir) as w:
        step = 0
        for _ in range(epochs):
            for images, labels in zip(x.split(50), y.split(50)):
                loss = F.cross_entropy(model(images), labels)
                adam.zero_grad()
                loss.backward()
                adam.step()
                w.add_scalar("Loss/train", loss.item(), step)
                step += 1
            with torch.no_grad():
                scores = model(u)
            w.add_scalar("Loss/validation", F.cross_entropy(scores, v).item(), step)
            w.add_scalar("Accuracy/validation", (scores.argmax(1) == v).float().mean().item(), step)
    return model


if __name__ == "__main__":
    main(str(Path(__file__).resolve().parents[2] / "datasets"), "runs/lesson16", epochs=2)
