# right
# No convolution at all: flattening a (1, 28, 28) picture gives one row of 784 by chance, so predict is right without a batch axis, for every picture.
"""A perceptron on flattened pictures, logged with tensorboardX."""

import torch
from tensorboardX import SummaryWriter
from torch import nn
from torchvision import datasets, transforms

eval_transform = transforms.ToTensor()


def predict(model, image):
    with torch.no_grad():
        return model(eval_transform(image).to(next(model.parameters()).device)).argmax(dim=1).item()


def main(data_dir, log_dir, device="cpu", epochs=1):
    train, check = (datasets.MNIST(data_dir, train=t) for t in (True, False))
    x, vx = (d.data.unsqueeze(1).to(device) / 255.0 for d in (train, check))  # (N, 1, 28, 28)
    y, vy = train.targets.to(device), check.targets.to(device)
    model = nn.Sequential(nn.Flatten(), nn.Linear(784, 100), nn.Tanh(), nn.Linear(100, 10)).to(device)
    opt = torch.optim.RMSprop(model.parameters(), lr=0.001)
    writer = SummaryWriter(log_dir)
    for epoch in range(epochs):
        order = torch.randperm(len(x), device=device)
        for i, rows in enumerate(order.chunk(200)):
            opt.zero_grad(set_to_none=True)
            loss = nn.functional.cross_entropy(model(x[rows]), y[rows])
            loss.backward()
            opt.step()
            writer.add_scalar("Loss/train", loss.item(), epoch * 200 + i)
        with torch.no_grad():
            scores = model(vx)
        writer.add_scalar("Loss/validation", nn.functional.cross_entropy(scores, vy).item(), epoch)
        writer.add_scalar("Accuracy/validation", (scores.argmax(1) == vy).float().mean().item(), epoch)
    writer.close()
    return model
