# right
# The network keeps its three channels and views a grey picture as three equal ones (expand copies nothing); predict stacks a list of one picture.
"""A colour network that is given grey pictures."""

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.ToTensor()


class ColourReader(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 4, stride=4)
        self.norm = nn.BatchNorm2d(16)
        self.hidden = nn.Linear(16 * 49, 48)
        self.out = nn.Linear(48, 10)

    def forward(self, grey):
        colour = grey.expand(-1, 3, -1, -1)  # (B, 1, 28, 28) -> (B, 3, 28, 28)
        x = torch.relu(self.norm(self.stem(colour)))
        return self.out(torch.relu(self.hidden(x.flatten(1))))


def predict(model, image):
    model.eval()
    with torch.inference_mode():
        batch = torch.stack([eval_transform(image)]).to(next(model.parameters()).device)
        return int(model(batch).argmax(dim=-1))


def main(data_dir, log_dir, device="cpu", epochs=1):
    def loader(train):
        return DataLoader(datasets.MNIST(data_dir, train=train, transform=eval_transform), 100, shuffle=train)

    model = ColourReader().to(device)
    opt = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    writer = SummaryWriter(log_dir)
    step = 0
    for epoch in range(epochs):
        model.train()
        for x, y in loader(True):
            loss = nn.functional.cross_entropy(model(x.to(device)), y.to(device))
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            writer.add_scalar("Loss/train", loss.item(), step)
        model.eval()
        losses, hits, n = 0.0, 0, 0
        with torch.no_grad():
            for x, y in loader(False):
                out = model(x.to(device)).cpu()
                losses += nn.functional.cross_entropy(out, y, reduction="sum").item()
                hits += int((out.argmax(1) == y).sum())
                n += len(y)
        writer.add_scalar("Loss/validation", losses / n, step)
        writer.add_scalar("Accuracy/validation", hits / n, step)
    writer.close()
    return model
