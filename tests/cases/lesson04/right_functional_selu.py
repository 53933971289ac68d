# right
# Pure functions: torch.func.grad of a SELU network through functional_call, no optimiser and no .backward().
"""MNIST with self-normalising units, in the functional style."""

import torch
from tensorboardX import SummaryWriter
from torch import func, nn
from torchvision import datasets, transforms

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize([0.13], [0.31])])


class Units(nn.Module):
    def __init__(self, width=60, depth=9):
        super().__init__()
        self.entry = nn.Linear(784, width)
        self.inner = nn.Sequential(*[nn.Sequential(nn.SELU(), nn.Linear(width, width)) for _ in range(depth - 1)], nn.SELU())
        self.exit = nn.Linear(width, 10)

    def forward(self, x):
        return self.exit(self.inner(self.entry(x.flatten(1))))


def main(data_dir, log_dir, device="cpu", epochs=1):
    xs, ys = {}, {}
    for train in (True, False):
        data = datasets.MNIST(data_dir, train=train, transform=eval_transform)
        xs[train] = torch.stack([x for x, _ in data]).to(device)
        ys[train] = data.targets.to(device)
    net = Units().to(device)
    weights = {name: p.detach().clone() for name, p in net.named_parameters()}

    def loss_of(weights, x, y):
        return nn.functional.cross_entropy(func.functional_call(net, weights, x), y)

    derivative = func.grad_and_value(loss_of)
    writer = SummaryWriter(log_dir)
    count = 0
    for epoch in range(epochs):
        order = torch.randperm(len(xs[True]), device=device)
        for i in range(0, len(order), 100):
            batch = order[i : i + 100]
            slope, value = derivative(weights, xs[True][batch], ys[True][batch])
            weights = {name: w - 0.1 * slope[name] for name, w in weights.items()}
            writer.add_scalar("Loss/train", value.item(), count)
            count += 1
        net.load_state_dict(weights)
        with torch.no_grad():
            answer = net(xs[False])
        writer.add_scalar("Loss/validation", nn.functional.cross_entropy(answer, ys[False]).item(), epoch)
        writer.add_scalar("Accuracy/validation", (answer.argmax(1) == ys[False]).float().mean().item(), epoch)
    writer.close()
    return net


if __name__ == "__main__":
    main("datasets", "runs/lesson04")
