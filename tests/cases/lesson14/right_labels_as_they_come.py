# right
# The digits are their own class indices; words and encoder are gone. A rewrite over plain tensors with one-hot targets.
from pathlib import Path

import torch
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms.functional import to_tensor

eval_transform = to_tensor


def main(data_dir, log_dir, device="cpu", epochs=1):
    """One hidden layer, RMSprop."""
    train, test = MNIST(data_dir, train=True), MNIST(data_dir, train=False)
    x, y = train.data[:, None].float().to(device) / 255, torch.eye(10, device=device)[train.targets.to(device)]
    u, v = test.data[:, None].float().to(device) / 255, test.targets.to(device)
    net = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 80), torch.nn.ReLU(), torch.nn.Linear(80, 10)).to(device)
    opt = torch.optim.RMSprop(net.parameters(), lr=0.001)
    log = SummaryWriter(log_dir)
    step = 0
    for _ in range(epochs):
        for part in torch.randperm(len(x), device=device).split(50):
            opt.zero_grad()
            loss = -(net(x[part]).log_softmax(1) * y[part]).sum(1).mean()
            loss.backward()
            opt.step()
            log.add_scalar("Loss/train", loss.item(), step)
            step += 1
        with torch.no_grad():
            scores = net(u).log_softmax(1)
        log.add_scalar("Loss/validation", -scores[torch.arange(len(v)), v].mean().item(), step)
        log.add_scalar("Accuracy/validation", (scores.argmax(1) == v).float().mean().item(), step)
    log.close()
    return net


if __name__ == "__main__":
    main(str(Path(__file__).resolve().parents[2] / "datasets"), "runs/lesson14")
