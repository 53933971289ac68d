# right
# The whole data set lives on the device from the start, the loop takes slices of it and steps by hand with torch.autograd.grad.
"""Everything on one device, once."""

import torch
import torch.nn.functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision import transforms
from torchvision.datasets import MNIST

eval_transform = transforms.ToTensor()


class Table(torch.nn.Module):
    """A two-layer network of four tensors; the pixel statistics are buffers."""

    def __init__(self):
        super().__init__()
        self.register_buffer("centre", torch.tensor([0.1307]))
        self.register_buffer("spread", torch.tensor([0.3081]))
        self.w = torch.nn.ParameterDict(
            {
                "in": torch.randn(784, 64) / 28,
                "in_bias": torch.zeros(64),
                "out": torch.randn(64, 10) / 8,
                "out_bias": torch.zeros(10),
            }
        )

    def forward(self, x):
        x = ((x - self.centre) / self.spread).flatten(1)  # (N, 784)
        x = torch.relu(x @ self.w["in"] + self.w["in_bias"])  # (N, 64)
        return x @ self.w["out"] + self.w["out_bias"]


def load(data_dir, train, device):
    split = MNIST(data_dir, train=train)
    return (split.data[:, None] / 255).to(device), split.targets.to(device)


def main(data_dir, log_dir, device="cpu", epochs=1):
    x, y = load(data_dir, True, device)
    test_x, test_y = load(data_dir, False, device)
    table = Table().to(device)
    writer, step = SummaryWriter(log_dir), 0
    for epoch in range(epochs):
        for rows in torch.randperm(len(x), device=device).split(50):
            loss = F.cross_entropy(table(x[rows]), y[rows])
            grads = torch.autograd.grad(loss, list(table.parameters()))
            with torch.no_grad():
                for weight, grad in zip(table.parameters(), grads, strict=True):
                    weight.sub_(grad, alpha=0.1)
            writer.add_scalar("Loss/train", loss.item(), step)
            step += 1
        with torch.no_grad():
            scores = table(test_x)
            accuracy = (scores.argmax(1) == test_y).float().mean().item()
        writer.add_scalar("Loss/validation", F.cross_entropy(scores, test_y).item(), epoch)
        writer.add_scalar("Accuracy/validation", accuracy, epoch)
        print(f"epoch {epoch}: {accuracy:.3f}")
    writer.close()
    return table


if __name__ == "__main__":
    main("datasets", "runs/lesson02", "cuda" if torch.cuda.is_available() else "cpu")
