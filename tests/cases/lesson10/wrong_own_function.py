# wrong: gradient_true
# The same function with an invented backward pass: it runs, and hands the whole gradient to every argument.
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.1307,), (0.3081,))])


class Blend(torch.autograd.Function):
    """old + gate * (new - old), written into `old` itself; the backward pass is ours."""

    @staticmethod
    def forward(ctx, old, new, gate):
        ctx.save_for_backward(gate, new - old)
        ctx.mark_dirty(old)
        return old.add_(gate * (new - old))

    @staticmethod
    def backward(ctx, grad):
        gate, distance = ctx.saved_tensors
        return grad, grad, grad


class Memory(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.width = width
        self.inward = nn.Linear(56, 2 * width)
        self.onward = nn.Linear(width, width)
        self.scores = nn.Linear(width, 10)

    def forward(self, x):
        parts = self.inward(x.reshape(len(x), 14, 56))  # (B, 14, 96)
        state = x.new_zeros(len(x), self.width)
        for part in parts.unbind(1):
            new = torch.tanh(part[:, : self.width] + self.onward(state.clone()))
            state = Blend.apply(state, new, torch.sigmoid(part[:, self.width :]))
        return self.scores(state)


def split(root, train):
    part = datasets.MNIST(root, train=train, transform=eval_transform)
    return TensorDataset(torch.stack([x for x, _ in part]), part.targets)


def main(data_dir, log_dir, device="cpu", epochs=1):
    net = Memory().to(device)
    adam = torch.optim.Adam(net.parameters(), lr=0.004)
    loader, check = DataLoader(split(data_dir, True), batch_size=64, shuffle=True), split(data_dir, False)
    step = 0
    with SummaryWriter(log_dir) as log:
        for _ in range(epochs):
            for x, y in loader:
                loss = F.cross_entropy(net(x.to(device)), y.to(device))
                adam.zero_grad()
                loss.backward()
                adam.step()
                log.add_scalar("Loss/train", loss.item(), step)
                step += 1
            x, y = (t.to(device) for t in check.tensors)
            with torch.no_grad():
                z = net(x)
            log.add_scalar("Loss/validation", F.cross_entropy(z, y).item(), step)
            log.add_scalar("Accuracy/validation", (z.argmax(1) == y).float().mean().item(), step)
    return net


if __name__ == "__main__":
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson10"))
