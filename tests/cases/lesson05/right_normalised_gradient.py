# right
# No optimiser and no backward(): autograd.grad, and each tensor takes a step of a fixed small share of its own length along its gradient's direction.
from pathlib import Path

import torch
from torch.nn import functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms.functional import to_tensor


def eval_transform(picture):
    """(1, 28, 28), mean 0 and standard deviation 1 over MNIST."""
    return to_tensor(picture).sub(0.1307).div(0.3081)


class Net(torch.nn.Module):
    """Two matrices and two offsets."""

    def __init__(self):
        super().__init__()
        self.w1 = torch.nn.Parameter(torch.randn(784, 100) / 784**0.5)
        self.b1 = torch.nn.Parameter(torch.full((100,), 0.01))
        self.w2 = torch.nn.Parameter(torch.randn(100, 10) / 100**0.5)
        self.b2 = torch.nn.Parameter(torch.full((10,), 0.01))

    def forward(self, x):
        return torch.tanh(x.reshape(len(x), 784) @ self.w1 + self.b1) @ self.w2 + self.b2


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Descend by normalised gradients; return the net."""
    sets = [MNIST(data_dir, train=train, transform=eval_transform) for train in (True, False)]
    (x, y), (vx, vy) = [(torch.stack([im for im, _ in s]).to(device), s.targets.to(device)) for s in sets]
    net = Net().to(device)
    weights = list(net.parameters())
    writer = SummaryWriter(log_dir)
    total = epochs * -(-len(x) // 64)
    step = 0
    for _epoch in range(epochs):
        for rows in torch.randperm(len(x)).to(device).split(64):
            loss = F.cross_entropy(net(x[rows]), y[rows])
            slopes = torch.autograd.grad(loss, weights)
            share = 0.02 * (1 - step / total)
            with torch.no_grad():
                for w, slope in zip(weights, slopes, strict=True):
                    w -= share * w.norm() * slope / (slope.norm() + 1e-12)
            writer.add_scalar("Loss/train", loss.item(), step)
            step += 1
        with torch.no_grad():
            out = net(vx)
            value, right = F.cross_entropy(out, vy).item(), (out.argmax(1) == vy).double().mean().item()
        writer.add_scalar("Loss/validation", value, step)
        writer.add_scalar("Accuracy/validation", right, step)
        print(f"{step:4d} {value:.3f} {right:.3f}")
    writer.close()
    return net


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson05"), epochs=2)
