# right
# Raw orthogonal matrices and tanh, torch.autograd.grad and a hand-made momentum step: no layer, optimiser, DataLoader or .backward().
"""A stack of orthogonal matrices."""

import torch
from torch.nn import Module, Parameter, ParameterList
from torch.nn.functional import cross_entropy
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms import PILToTensor

ROWS = 50


def eval_transform(picture):
    return PILToTensor()(picture) / 127.5 - 1


class Stack(Module):
    def __init__(self, sizes=(784, *[72] * 8, 10)):
        super().__init__()
        pairs = list(zip(sizes[:-1], sizes[1:]))
        self.matrices = ParameterList(Parameter(torch.nn.init.orthogonal_(torch.empty(a, b))) for a, b in pairs)
        self.offsets = ParameterList(Parameter(torch.zeros(b)) for _, b in pairs)

    def forward(self, x):
        x = x.reshape(-1, 784)
        *hidden, (last, offset) = zip(self.matrices, self.offsets)
        for matrix, shift in hidden:
            x = (x @ matrix + shift).tanh()
        return x @ last + offset


def read(data_dir, train, device):
    data = MNIST(data_dir, train=train)
    return (data.data[:, None] / 127.5 - 1).to(device), data.targets.to(device)


def main(data_dir, log_dir, device="cpu", epochs=1):
    x, y = read(data_dir, True, device)
    vx, vy = read(data_dir, False, device)
    stack = Stack().to(device)
    tensors = list(stack.parameters())
    momenta = [torch.zeros_like(t) for t in tensors]
    step = 0
    with SummaryWriter(log_dir) as writer:
        for epoch in range(epochs):
            for rows in torch.randperm(len(x), device=device).split(ROWS):
                loss = cross_entropy(stack(x[rows]), y[rows])
                with torch.no_grad():
                    for t, m, g in zip(tensors, momenta, torch.autograd.grad(loss, tensors)):
                        m.mul_(0.9).add_(g)
                        t.sub_(0.01 * m)
                writer.add_scalar("Loss/train", loss.item(), step)
                step += 1
            with torch.no_grad():
                scores = stack(vx)
                writer.add_scalar("Loss/validation", cross_entropy(scores, vy).item(), epoch)
                writer.add_scalar("Accuracy/validation", (scores.argmax(1) == vy).float().mean().item(), epoch)
    return stack


if __name__ == "__main__":
    main("datasets", "runs/lesson04")
