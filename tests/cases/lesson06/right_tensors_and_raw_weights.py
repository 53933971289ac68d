# right
# Images stay uint8 in memory and are standardised batch by batch with the data set's own statistics; weights are bare parameters, gradients come from autograd.grad.
from pathlib import Path

import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST

MEAN, STD = 33.3184, 78.5675  # of raw training pixels, 0 to 255


def standard(raw):
    """uint8 pixels, any shape -> float32 with mean 0 and deviation 1."""
    return (raw.float() - MEAN) / STD


def eval_transform(picture):
    """PIL image -> (1, 28, 28)."""
    return standard(torch.from_numpy(np.array(picture)).unsqueeze(0))


class Table(torch.nn.Module):
    """x -> relu(x A + a) B + b."""

    def __init__(self):
        super().__init__()
        self.A = torch.nn.Parameter(torch.randn(784, 80) * 0.05)
        self.a = torch.nn.Parameter(torch.zeros(80))
        self.B = torch.nn.Parameter(torch.randn(80, 10) * 0.15)
        self.b = torch.nn.Parameter(torch.zeros(10))

    def forward(self, x):
        return (x.flatten(1) @ self.A + self.a).relu() @ self.B + self.b


def surprise(scores, truth):
    """Cross-entropy, written out."""
    return (scores.logsumexp(1) - scores.gather(1, truth[:, None])[:, 0]).mean()


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Plain gradient descent, no loader, no optimiser object."""
    train, test = MNIST(data_dir, train=True), MNIST(data_dir, train=False)
    x, y = train.data[:, None].to(device), train.targets.to(device)
    x_test, y_test = standard(test.data[:, None].to(device)), test.targets.to(device)
    model = Table().to(device)
    names = list(model.parameters())
    log, step = SummaryWriter(log_dir), 0
    for _ in range(epochs):
        for some in torch.randperm(len(x)).to(device).split(40):
            loss = surprise(model(standard(x[some])), y[some])
            for weight, slope in zip(names, torch.autograd.grad(loss, names), strict=True):
                weight.data.sub_(0.1 * slope)
            log.add_scalar("Loss/train", loss.item(), step)
            step += 1
        with torch.no_grad():
            scores = model(x_test)
        share = (scores.argmax(1) == y_test).float().mean().item()
        log.add_scalar("Loss/validation", surprise(scores, y_test).item(), step)
        log.add_scalar("Accuracy/validation", share, step)
        print(f"{step} steps, accuracy {share:.3f}")
    log.close()
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson06"), epochs=2)
