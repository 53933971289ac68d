# right
# torchvision's own Resize after a crop, in the transform of MNIST itself; the last, smaller batch is dropped (10,000 = 156 * 64 + 16).
"""A strided network on cut-out digits, stretched to 28 x 28."""

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms


def trimmed(image):
    return image.crop(image.getbbox())


eval_transform = transforms.Compose([trimmed, transforms.Resize((28, 28)), transforms.ToTensor(), transforms.Normalize(0.2, 0.35)])


class Strides(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Conv2d(1, 10, 4, 2), nn.ELU(), nn.Conv2d(10, 20, 3, 2), nn.ELU(), nn.Flatten(), nn.LazyLinear(10))

    def forward(self, x):
        return self.layers(x)


def main(data_dir, log_dir, device="cpu", epochs=1):
    train = DataLoader(datasets.MNIST(data_dir, train=True, transform=eval_transform), 64, shuffle=True, drop_last=True)
    check = DataLoader(datasets.MNIST(data_dir, train=False, transform=eval_transform), 250)
    model = Strides().to(device)
    model(torch.zeros(2, 1, 28, 28, device=device))
    opt = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    criterion = nn.CrossEntropyLoss()
    writer = SummaryWriter(log_dir)
    step = 0
    for epoch in range(epochs):
        for x, y in train:
            opt.zero_grad()
            loss = criterion(model(x.to(device)), y.to(device))
            loss.backward()
            opt.step()
            writer.add_scalar("Loss/train", loss.item(), step)
            step += 1
        with torch.no_grad():
            pairs = [(model(x.to(device)).cpu(), y) for x, y in check]
        out, y = (torch.cat(part) for part in zip(*pairs, strict=True))
        writer.add_scalar("Loss/validation", criterion(out, y).item(), step)
        writer.add_scalar("Accuracy/validation", (out.argmax(1) == y).float().mean().item(), step)
    writer.close()
    return model
