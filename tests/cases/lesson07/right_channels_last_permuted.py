# right
# Colour pictures as numpy has them, (height, width, channel), are permuted, not reshaped, to (channel, height, width); predict indexes with None.
"""A small colour network on numpy pictures."""

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets


def eval_transform(image):
    colour = np.asarray(image.convert("RGB"), dtype=np.float32)  # (28, 28, 3)
    return torch.from_numpy(colour).permute(2, 0, 1).contiguous() / 128 - 0.3


class Pictures(Dataset):
    def __init__(self, data_dir, train):
        self.source = datasets.MNIST(data_dir, train=train)

    def __len__(self):
        return len(self.source)

    def __getitem__(self, i):
        image, digit = self.source[i]
        return eval_transform(image), digit


def predict(model, image):
    was = model.training
    model.eval()
    with torch.no_grad():
        answer = model(eval_transform(image)[None].to(next(model.parameters()).device)).argmax(1).item()
    model.train(was)
    return answer


def evaluate(model, data, device):
    model.eval()
    with torch.no_grad():
        pairs = [(model(x.to(device)).cpu(), y) for x, y in DataLoader(data, 400)]
    scores, digits = torch.cat([s for s, _ in pairs]), torch.cat([y for _, y in pairs])
    model.train()
    return nn.functional.cross_entropy(scores, digits).item(), (scores.argmax(1) == digits).double().mean().item()


def main(data_dir, log_dir, device="cpu", epochs=1):
    model = nn.Sequential(
        nn.Conv2d(3, 10, 5, stride=2), nn.GELU(), nn.Conv2d(10, 20, 3, stride=2), nn.GELU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(500, 10)
    )
    model.to(device)
    opt = torch.optim.AdamW(model.parameters(), lr=0.003)
    writer = SummaryWriter(log_dir)
    step = 0
    for epoch in range(epochs):
        for x, y in DataLoader(Pictures(data_dir, True), 50, shuffle=True):
            opt.zero_grad()
            loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
            loss.backward()
            opt.step()
            writer.add_scalar("Loss/train", loss.item(), step)
            step += 1
        loss, accuracy = evaluate(model, Pictures(data_dir, False), device)
        writer.add_scalar("Loss/validation", loss, epoch)
        writer.add_scalar("Accuracy/validation", accuracy, epoch)
    writer.close()
    return model
