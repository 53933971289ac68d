# right
# Every layer sees the image and all earlier answers, squeezed through a hyperbolic tangent: many short roads back, and eight layers in a row.
"""A densely connected stack: each layer reads everything that was written before it."""

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms import Compose, Lambda, ToTensor

eval_transform = Compose([ToTensor(), Lambda(lambda image: image * 2 - 1)])


class Dense(nn.Module):
    def __init__(self, growth=24, depth=8):
        super().__init__()
        self.stem = nn.Linear(784, growth)
        self.rest = nn.ModuleList([nn.Linear(growth * k, growth) for k in range(1, depth)])
        self.readout = nn.Linear(growth * depth, 10)

    def forward(self, x):
        seen = torch.tanh(self.stem(x.flatten(1)))
        for layer in self.rest:
            seen = torch.cat([seen, torch.tanh(layer(seen))], dim=1)
        return self.readout(seen)


def main(data_dir, log_dir, device="cpu", epochs=1):
    net = Dense().to(device)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.RMSprop(net.parameters(), lr=0.001)

    def cache(train):
        return [(image, label) for image, label in MNIST(data_dir, train=train, transform=eval_transform)]

    loaders = {train: DataLoader(cache(train), batch_size=100, shuffle=train) for train in (True, False)}
    writer = SummaryWriter(log_dir)
    step = 0
    for epoch in range(epochs):
        for train, loader in loaders.items():
            net.train(train)
            losses, right, count = 0.0, 0, 0
            for x, y in loader:
                x, y = x.to(device), y.to(device)
                with torch.set_grad_enabled(train):
                    scores = net(x)
                    loss = criterion(scores, y)
                if train:
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    writer.add_scalar("Loss/train", loss.item(), step)
                    step += 1
                losses += loss.item() * len(y)
                right += (scores.argmax(1) == y).sum().item()
                count += len(y)
        writer.add_scalar("Loss/validation", losses / count, epoch)
        writer.add_scalar("Accuracy/validation", right / count, epoch)
    writer.close()
    return net


if __name__ == "__main__":
    main("datasets", "runs/lesson04")
