# right
# A rewrite as a convolutional net on tensors kept in memory, without a DataLoader, at a rate of 0.03.
from pathlib import Path

import torch
import torchvision
from torch.utils.tensorboard import SummaryWriter


def eval_transform(picture):
    """PIL image -> (1, 28, 28), standardised."""
    return (torchvision.transforms.functional.to_tensor(picture) - 0.1307) / 0.3081


def tensors(folder, train, device):
    """Pixels (N, 1, 28, 28) and digits (N,) of one split."""
    raw = torchvision.datasets.MNIST(folder, train=train)
    return ((raw.data.unsqueeze(1) / 255 - 0.1307) / 0.3081).to(device), raw.targets.to(device)


class Eyes(torch.nn.Module):
    """Two convolutions and one linear map."""

    def __init__(self):
        super().__init__()
        self.wide = torch.nn.Conv2d(1, 8, 4, 2)
        self.deep = torch.nn.Conv2d(8, 16, 3, 2)
        self.name_it = torch.nn.Linear(16 * 6 * 6, 10)

    def forward(self, pixels):
        return self.name_it(self.deep(self.wide(pixels).relu()).relu().flatten(1))


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train, validate, log, return the net."""
    x, y = tensors(data_dir, True, device)
    x_valid, y_valid = tensors(data_dir, False, device)
    net = Eyes().to(device)
    descent = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.8, weight_decay=1e-4)
    with SummaryWriter(log_dir) as log:
        count = 0
        for _ in range(epochs):
            net.train()
            for rows in torch.randperm(len(x), device=device).split(50):
                descent.zero_grad()
                loss = torch.nn.functional.cross_entropy(net(x[rows]), y[rows])
                loss.backward()
                descent.step()
                if count % 10 == 0:
                    log.add_scalar("Loss/train", loss.item(), count)
                count += 1
            net.eval()
            with torch.inference_mode():
                scores = net(x_valid)
                loss = torch.nn.functional.cross_entropy(scores, y_valid).item()
                share = (scores.argmax(1) == y_valid).float().mean().item()
            log.add_scalar("Loss/validation", loss, count)
            log.add_scalar("Accuracy/validation", share, count)
            print(f"{count} updates: {loss:.3f}, {share:.3f}")
    return net


if __name__ == "__main__":
    torch.manual_seed(0)
    home = Path(__file__).resolve().parents[2]
    main(str(home / "datasets"), str(home / "runs" / "lesson05"), epochs=2)
