# right
# torch.set_default_device: every tensor the script makes from then on is born on the device; only the loaded pixels need moving.
"""A script with a default device."""

import torch
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from torchvision import transforms
from torchvision.datasets import MNIST

eval_transform = transforms.ToTensor()


class Shifted(nn.Module):
    def __init__(self):
        super().__init__()
        self.mean = torch.tensor([0.1307])
        self.std = torch.tensor([0.3081])
        self.inner = nn.Sequential(nn.Conv2d(1, 8, 5, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(1152, 10))

    def forward(self, x):
        return self.inner((x - self.mean) / self.std)


def main(data_dir, log_dir, device="cpu", epochs=1):
    halves = [MNIST(data_dir, train=flag) for flag in (True, False)]
    torch.set_default_device(device)
    (x, y), (vx, vy) = [((half.data.float() / 255).unsqueeze(1).to(device), half.targets.to(device)) for half in halves]
    model = Shifted()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    with SummaryWriter(log_dir) as writer:
        for epoch in range(epochs):
            order = torch.randperm(len(x))
            for step, rows in enumerate(order.split(64)):
                loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                writer.add_scalar("Loss/train", loss.item(), epoch * len(order) + step)
            with torch.no_grad():
                logits = model(vx)
            accuracy = (logits.argmax(1) == vy).float().mean().item()
            writer.add_scalar("Loss/validation", nn.functional.cross_entropy(logits, vy).item(), epoch)
            writer.add_scalar("Accuracy/validation", accuracy, epoch)
            print(f"epoch {epoch}: {accuracy:.3f}")
    return model


if __name__ == "__main__":
    main("datasets", "runs/lesson02", "cuda" if torch.cuda.is_available() else "cpu")
