# right
# A third split: one part trains, one chooses the epoch, one checks the choice, and the test images come at the very end.
"""Lesson 15: three parts of the training file, and the test file for the end."""

import copy
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader, random_split
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST
from torchvision.transforms import v2

eval_transform = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.13], [0.31])])


def evaluate(network, dataset, device):
    network.eval()
    loss = hits = 0
    with torch.inference_mode():
        for pictures, digits in DataLoader(dataset, batch_size=400):
            scores = network(pictures.to(device)).cpu()
            loss += nn.functional.cross_entropy(scores, digits, reduction="sum").item()
            hits += int((scores.argmax(1) == digits).sum())
    return loss / len(dataset), hits / len(dataset)


def main(data_dir, log_dir, device="cpu", epochs=3):
    train_part, choose_part, check_part = random_split(MNIST(data_dir, train=True, transform=eval_transform), [0.8, 0.1, 0.1])
    network = nn.Sequential(nn.Conv2d(1, 6, 5, 3), nn.ReLU(), nn.Flatten(), nn.LazyLinear(60), nn.ReLU(), nn.Linear(60, 10)).to(device)
    network(torch.zeros(1, 1, 28, 28, device=device))
    optimizer = torch.optim.AdamW(network.parameters(), lr=2e-3)
    writer, step, chosen = SummaryWriter(log_dir), 0, (float("inf"), None)
    for epoch in range(min(epochs, 3)):
        network.train()
        for pictures, digits in DataLoader(train_part, batch_size=64, shuffle=True):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(network(pictures.to(device)), digits.to(device))
            loss.backward()
            optimizer.step()
            step += 1
            writer.add_scalar("Loss/train", loss.item(), step)
        loss, accuracy = evaluate(network, choose_part, device)
        writer.add_scalar("Loss/validation", loss, step)
        writer.add_scalar("Accuracy/validation", accuracy, step)
        if loss < chosen[0]:
            chosen = loss, copy.deepcopy(network.state_dict())
    network.load_state_dict(chosen[1])
    writer.add_scalar("Accuracy/check", evaluate(network, check_part, device)[1], step)
    writer.add_scalar("Accuracy/test", evaluate(network, MNIST(data_dir, train=False, transform=eval_transform), device)[1], step)
    writer.close()
    return network


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson15"))
