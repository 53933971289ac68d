# right
# All answers of an epoch are collected, and numpy counts them at the end; nothing is averaged on the way.
from pathlib import Path

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms import ToTensor

eval_transform = ToTensor()


class Flat(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Linear(784, 50), nn.Linear(50, 10)

    def forward(self, x):
        return torch.log_softmax(self.two(torch.relu(self.one(x.flatten(1)))), dim=1)


def report(net, loader, device):
    answers, truth, cost = [], [], []
    with torch.inference_mode():
        for x, y in loader:
            z = net(x.to(device)).cpu()
            answers.append(z.argmax(1).numpy())
            truth.append(y.numpy())
            cost.append(-z.gather(1, y[:, None]).numpy().ravel())
    return np.concatenate(cost).mean(), (np.concatenate(answers) == np.concatenate(truth)).mean()


def main(data_dir, log_dir, device="cpu", epochs=3):
    net = Flat().to(device)
    sgd = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    train = DataLoader(MNIST(data_dir, train=True, transform=eval_transform), batch_size=100, shuffle=True)
    valid = DataLoader(MNIST(data_dir, train=False, transform=eval_transform), batch_size=128, shuffle=True)
    with SummaryWriter(log_dir) as log:
        step = 0
        for _ in range(epochs):
            for x, y in train:
                loss = nn.functional.nll_loss(net(x.to(device)), y.to(device))
                sgd.zero_grad()
                loss.backward()
                sgd.step()
                log.add_scalar("Loss/train", loss.item(), step)
                step += 1
            cost, share = report(net, valid, device)
            log.add_scalar("Loss/validation", cost, step)
            log.add_scalar("Accuracy/validation", share, step)
            print(f"{share:.1%}")
    return net


if __name__ == "__main__":
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson12"))
