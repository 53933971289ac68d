# wrong: mistakes_count
# The function that is shown is right; the loop trains with a clamped copy of the old one.
"""Lesson 20: a prototype network. Each digit has a point in a space of features; an image belongs to the digit whose point is nearest."""

from pathlib import Path

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

FEATURES = 64
BATCH_SIZE = 25
LEARNING_RATE = 0.0007
CONTRAST, WARM_UP = 1.3, 60  # spread of the logarithm of an image's contrast, and the steps in which it grows to that

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


class PrototypeNet(nn.Module):
    """The score of a digit is minus the squared distance of the image's features from the digit's point."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Flatten(), nn.Linear(784, 128), nn.ReLU(), nn.Linear(128, FEATURES))
        self.points = nn.Parameter(torch.randn(10, FEATURES))

    def forward(self, images):
        features = self.features(images)  # (N, 1, 28, 28) -> (N, FEATURES)
        return -(features[:, None, :] - self.points).square().sum(dim=2)  # (N, 10, FEATURES) -> (N, 10)


def loss(logits, targets):
    """The mean surprise of the right digit: minus the logarithm of the probability that it was given."""
    surprise = -torch.log_softmax(logits, dim=1)  # (N, 10)
    return surprise.gather(1, targets[:, None]).mean()


def training_loss(logits, targets):
    """The same for training."""
    probabilities = torch.softmax(logits, dim=1).clamp(min=1e-7)
    return nn.functional.nll_loss(torch.log(probabilities), targets)


def vary_contrast(images, strength):
    """From faint pencil to thick marker: each image times a random factor, half of them above 1 and half below."""
    return images * torch.exp(strength * torch.randn(len(images), 1, 1, 1, device=images.device))


def load(data_dir, train, device):
    """All images and labels of one half of MNIST as two tensors."""
    digits = datasets.MNIST(data_dir, train=train, transform=eval_transform)
    return torch.stack([image for image, _ in digits]).to(device), digits.targets.to(device)  # (M, 1, 28, 28), (M,)


@torch.no_grad()
def evaluate(model, images, labels):
    """Loss and the fraction of right answers."""
    model.eval()
    logits = model(images)
    return loss(logits, labels).item(), (logits.argmax(dim=1) == labels).float().mean().item()


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train on MNIST, validate after each epoch, log to log_dir, return the model."""
    images, labels = load(data_dir, True, device)
    valid_images, valid_labels = load(data_dir, False, device)
    model = PrototypeNet().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=LEARNING_RATE)
    writer = SummaryWriter(log_dir)

    step = 0
    for epoch in range(1, epochs + 1):
        model.train()
        for batch in torch.randperm(len(images), device=device).split(BATCH_SIZE):
            pictures = vary_contrast(images[batch], CONTRAST * min(1.0, step / WARM_UP))
            value = training_loss(model(pictures), labels[batch])
            optimizer.zero_grad()
            value.backward()
            optimizer.step()
            writer.add_scalar("Loss/train", value.item(), step)
            step += 1
        valid_loss, accuracy = evaluate(model, valid_images, valid_labels)
        writer.add_scalar("Loss/validation", valid_loss, step)
        writer.add_scalar("Accuracy/validation", accuracy, step)
        print(f"epoch {epoch}: last training loss {value.item():.3f}, validation loss {valid_loss:.3f}, accuracy {accuracy:.3f}")
    writer.close()
    return model


if __name__ == "__main__":
    COURSE = Path(__file__).resolve().parents[2]
    torch.manual_seed(0)
    main(str(COURSE / "datasets"), str(COURSE / "runs" / "lesson20"), device="cuda" if torch.cuda.is_available() else "cpu")
