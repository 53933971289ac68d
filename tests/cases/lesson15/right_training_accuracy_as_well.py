# right
# One split, and after each epoch the accuracy on the training part is measured next to that on the held-back part: no leak, a comparison.
"""Lesson 15: a perceptron with one hidden layer, a held-back part to validate on, and the weights of the best epoch."""

from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

MEAN, STD = 0.1307, 0.3081
HELD_BACK = 2000  # training images that are kept for validation
SPLIT_SEED = 15  # whoever asks for a part gets the same split

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((MEAN,), (STD,))])


def read(data_dir, train):
    """One of MNIST's two files as tensors: images (N, 1, 28, 28), standardised, and labels (N,)."""
    mnist = datasets.MNIST(data_dir, train=train)
    images = (mnist.data.unsqueeze(1).float() / 255 - MEAN) / STD
    return TensorDataset(images, mnist.targets)


def digits(data_dir, part):
    """A loader for one part of the data: 'train', 'validation' or 'test'."""
    if part == "test":
        chosen = read(data_dir, train=False)
    else:
        everything = read(data_dir, train=True)
        training, validation = random_split(everything, [len(everything) - HELD_BACK, HELD_BACK], torch.Generator().manual_seed(SPLIT_SEED))
        chosen = training if part == "train" else validation
    return DataLoader(chosen, batch_size=50 if part == "train" else 500, shuffle=part == "train")


def build_model():
    """784 pixels, 200 hidden units, 10 scores."""
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 200), nn.ReLU(), nn.Linear(200, 10))


def train(model, loader, optimizer, device):
    """One pass over the training part; yields the loss of each step."""
    model.train()
    for images, labels in loader:
        logits = model(images.to(device))  # (B, 10)
        loss = nn.functional.cross_entropy(logits, labels.to(device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        yield loss.item()


@torch.no_grad()
def measure(model, loader, device):
    """Mean loss and accuracy over a loader."""
    model.eval()
    loss, right = 0.0, 0
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        logits = model(images)
        loss += nn.functional.cross_entropy(logits, labels, reduction="sum").item()
        right += (logits.argmax(dim=1) == labels).sum().item()
    count = len(loader.dataset)
    return loss / count, right / count


def main(data_dir, log_dir, device="cpu", epochs=6):
    """Train, keep the weights of the best epoch, log to log_dir, return the model."""
    loaders = {part: digits(data_dir, part) for part in ("train", "validation", "test")}
    model = build_model().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.002)
    best, best_weights = 0.0, None
    step = 0
    with SummaryWriter(log_dir) as writer:
        for epoch in range(1, epochs + 1):
            for loss in train(model, loaders["train"], optimizer, device):
                writer.add_scalar("Loss/train", loss, step)
                step += 1
            loss, validation = measure(model, loaders["validation"], device)
            writer.add_scalar("Loss/validation", loss, step)
            writer.add_scalar("Accuracy/validation", validation, step)
            writer.add_scalar("Accuracy/train", measure(model, loaders["train"], device)[1], step)
            print(f"epoch {epoch}: validation accuracy {validation:.3f}")
            if validation > best:
                best, best_weights = validation, {name: tensor.clone() for name, tensor in model.state_dict().items()}
        model.load_state_dict(best_weights)
        loss, test = measure(model, loaders["test"], device)
        writer.add_scalar("Loss/test", loss, step)
        writer.add_scalar("Accuracy/test", test, step)
    print(f"best epoch: validation accuracy {best:.3f}, test accuracy {test:.3f}")
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson15"), "cuda" if torch.cuda.is_available() else "cpu")
