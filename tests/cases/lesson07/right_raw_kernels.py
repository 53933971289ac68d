# right
# Functional style: raw kernels for one channel, slices of tensors instead of a DataLoader, torch.autograd.grad and a hand-written descent.
"""Two kernels and a matrix, by hand."""

import torch
import torch.nn.functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets
from torchvision.transforms.functional import to_tensor


def eval_transform(image):
    return to_tensor(image) * 2 - 0.5


class Kernels(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Parameter(torch.randn(10, 1, 5, 5) * 0.2)
        self.b = torch.nn.Parameter(torch.randn(20, 10, 5, 5) * 0.08)
        self.c = torch.nn.Parameter(torch.randn(320, 10) * 0.05)
        self.d = torch.nn.Parameter(torch.zeros(10))

    def forward(self, x):
        x = F.conv2d(x, self.a, stride=2).relu()  # (B, 10, 12, 12)
        x = F.conv2d(x, self.b, stride=2).relu()  # (B, 20, 4, 4)
        return x.flatten(1) @ self.c + self.d


def predict(model, image):
    with torch.no_grad():
        scores = model(eval_transform(image)[None].to(model.a.device))
    return scores[0].argmax().item()


def main(data_dir, log_dir, device="cpu", epochs=1):
    raw = {part: datasets.MNIST(data_dir, train=part) for part in (True, False)}
    x, vx = ((raw[part].data[:, None].float() / 255 * 2 - 0.5).to(device) for part in (True, False))
    y, vy = (raw[part].targets.to(device) for part in (True, False))
    net = Kernels().to(device)
    speed = [torch.zeros_like(p) for p in net.parameters()]
    step = 0
    with SummaryWriter(log_dir) as writer:
        for epoch in range(epochs):
            for rows in torch.randperm(len(x), device=device).split(50):
                loss = F.cross_entropy(net(x[rows]), y[rows])
                slopes = torch.autograd.grad(loss, list(net.parameters()))
                with torch.no_grad():
                    for p, s, g in zip(net.parameters(), speed, slopes, strict=True):
                        p -= 0.02 * s.mul_(0.9).add_(g)
                writer.add_scalar("Loss/train", loss.item(), step)
                step += 1
            with torch.no_grad():
                scores = net(vx)
            writer.add_scalar("Loss/validation", F.cross_entropy(scores, vy).item(), epoch)
            writer.add_scalar("Accuracy/validation", (scores.argmax(1) == vy).float().mean().item(), epoch)
    return net
