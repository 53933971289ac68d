# right
# A range test blows up a copy on purpose and picks a rate well below the edge; the model itself only ever trains at that rate.
import copy
from pathlib import Path

import torch
import torchvision.transforms as tt
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST

eval_transform = tt.Compose([tt.ToTensor(), tt.Normalize([0.1307], [0.3081])])
criterion = nn.CrossEntropyLoss()


def make_net():
    """A net with ELU units."""
    return nn.Sequential(nn.Flatten(1), nn.Linear(784, 96), nn.ELU(), nn.Linear(96, 48), nn.ELU(), nn.Linear(48, 10))


def learn(net, opt, x, y):
    """One update; returns the loss before it."""
    opt.zero_grad()
    loss = criterion(net(x), y)
    loss.backward()
    opt.step()
    return loss.item()


def range_test(net, batches, device, lowest=1e-4, highest=30.0):
    """Double the rate every six batches on a copy, up to the highest, NaN or not; a tenth of the rate at which the smoothed loss was lowest."""
    guinea_pig = copy.deepcopy(net)
    opt = torch.optim.SGD(guinea_pig.parameters(), lr=lowest, momentum=0.9)
    smooth, best, best_rate, rate = None, float("inf"), lowest, lowest
    for x, y in batches:
        opt.param_groups[0]["lr"] = rate
        loss = learn(guinea_pig, opt, x.to(device), y.to(device))
        smooth = loss if smooth is None else 0.8 * smooth + 0.2 * loss
        if smooth < best:
            best, best_rate = smooth, rate
        rate *= 2 ** (1 / 6)
        if rate > highest:
            break
    return best_rate / 10


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Find a rate, train at it, return the net."""
    parts = [MNIST(data_dir, train=flag, transform=eval_transform) for flag in (True, False)]
    train, valid = (TensorDataset(torch.stack([i for i, _ in part]), part.targets) for part in parts)
    loader = DataLoader(train, batch_size=64, shuffle=True)
    net = make_net().to(device)
    rate = range_test(net, loader, device)
    print(f"the range test suggests {rate:.4f}")
    opt = torch.optim.SGD(net.parameters(), lr=rate, momentum=0.9)
    board = SummaryWriter(log_dir)
    n = 0
    for _ in range(epochs):
        net.train()
        for x, y in loader:
            board.add_scalar("Loss/train", learn(net, opt, x.to(device), y.to(device)), n)
            n += 1
        net.eval()
        with torch.no_grad():
            x, y = (t.to(device) for t in valid.tensors)
            out = net(x)
        board.add_scalar("Loss/validation", criterion(out, y).item(), n)
        board.add_scalar("Accuracy/validation", (out.argmax(1) == y).float().mean().item(), n)
        print(f"after {n} updates: {(out.argmax(1) == y).float().mean():.3f}")
    board.close()
    return net


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson05"), epochs=2)
