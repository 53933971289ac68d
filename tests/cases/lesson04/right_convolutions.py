# right
# Eight strided and unstrided convolutions with ReLU and Kaiming initialisation: layers of another kind, as deep.
"""Eight small convolutions in a row."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])
PLAN = [(1, 8, 2), (8, 12, 2), (12, 12, 1), (12, 12, 2), (12, 12, 1), (12, 12, 1), (12, 12, 1), (12, 12, 1)]


class Tower(nn.Module):
    def __init__(self):
        super().__init__()
        for index, (channels, filters, stride) in enumerate(PLAN):
            convolution = nn.Conv2d(channels, filters, 3, stride, padding=1)
            nn.init.kaiming_normal_(convolution.weight, nonlinearity="relu")
            nn.init.zeros_(convolution.bias)
            self.add_module(f"convolution{index}", convolution)
        self.digits = nn.Linear(12 * 4 * 4, 10)

    def forward(self, x):
        for index in range(len(PLAN)):
            x = F.relu(self.get_submodule(f"convolution{index}")(x))
        return self.digits(x.flatten(1))  # (N, 192) -> (N, 10)


def whole(data_dir, train):
    pairs = datasets.MNIST(data_dir, train=train, transform=eval_transform)
    return torch.stack([image for image, _ in pairs]), pairs.targets


def main(data_dir, log_dir, device="cpu", epochs=1):
    images, labels = whole(data_dir, True)
    test_images, test_labels = whole(data_dir, False)
    tower = Tower().to(device)
    optimiser = torch.optim.SGD(tower.parameters(), lr=0.02, momentum=0.9)
    with SummaryWriter(log_dir) as writer:
        step = 0
        for epoch in range(epochs):
            for chosen in torch.randperm(len(images)).chunk(100):
                loss = F.cross_entropy(tower(images[chosen].to(device)), labels[chosen].to(device))
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                writer.add_scalar("Loss/train", loss.item(), step)
                step += 1
            with torch.no_grad():
                scores = tower(test_images.to(device)).cpu()
            writer.add_scalar("Loss/validation", F.cross_entropy(scores, test_labels).item(), epoch)
            writer.add_scalar("Accuracy/validation", (scores.argmax(dim=1) == test_labels).float().mean().item(), epoch)
    return tower


if __name__ == "__main__":
    main("datasets", "runs/lesson04")
