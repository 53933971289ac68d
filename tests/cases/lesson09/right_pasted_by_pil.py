# right
# PIL crops by its own getbbox and shrinks or enlarges with the aspect kept, then fills up (ImageOps.pad); tensors are made once, no DataLoader.
"""Pictures prepared once, then indexed."""

import torch
from PIL import ImageOps
from torch import nn
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets
from torchvision.transforms.functional import to_tensor


def eval_transform(image):
    box = image.point(lambda level: 255 if level > 50 else 0).getbbox()
    return to_tensor(ImageOps.pad(image.crop(box), (24, 24), color=0))


def prepared(data_dir, train, device):
    source = datasets.MNIST(data_dir, train=train)
    return torch.stack([eval_transform(image) for image, _ in source]).to(device), source.targets.to(device)


def main(data_dir, log_dir, device="cpu", epochs=1):
    x, y = prepared(data_dir, True, device)
    vx, vy = prepared(data_dir, False, device)
    net = nn.Sequential(nn.Flatten(), nn.Linear(576, 64), nn.ReLU(), nn.Linear(64, 10)).to(device)
    weights = list(net.parameters())
    with SummaryWriter(log_dir) as writer:
        for epoch in range(epochs):
            for i, rows in enumerate(torch.randperm(len(x)).split(40)):
                loss = nn.functional.cross_entropy(net(x[rows]), y[rows])
                slopes = torch.autograd.grad(loss, weights)
                with torch.no_grad():
                    for w, g in zip(weights, slopes, strict=True):
                        w -= 0.2 * g
                writer.add_scalar("Loss/train", loss.item(), epoch * 250 + i)
            with torch.no_grad():
                out = net(vx)
            writer.add_scalar("Loss/validation", nn.functional.cross_entropy(out, vy).item(), epoch)
            writer.add_scalar("Accuracy/validation", (out.argmax(1) == vy).double().mean().item(), epoch)
    return net
