# right
# main measures the training set itself and then binds eval_transform to what it found.
from pathlib import Path

import torch
from torch.nn import functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = None  # main fills this in


class Lines(torch.nn.Module):
    """A wide layer and a narrow one."""

    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(784, 120)
        self.second = torch.nn.Linear(120, 10)

    def forward(self, image):
        return self.second(F.relu(self.first(image.flatten(1))))


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Measure, train, validate, return the net."""
    global eval_transform
    pixels = datasets.MNIST(data_dir, train=True).data / 255  # (N, 28, 28)
    centre, spread = pixels.mean().item(), pixels.std().item()
    print(f"mean {centre:.4f}, standard deviation {spread:.4f}")
    eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((centre,), (spread,))])

    train, valid = (datasets.MNIST(data_dir, train=flag, transform=eval_transform) for flag in (True, False))
    train = torch.utils.data.DataLoader(train, batch_size=64, shuffle=True)
    valid = torch.utils.data.DataLoader(valid, batch_size=256)
    net = Lines().to(device)
    adam = torch.optim.Adam(net.parameters())
    log, step = SummaryWriter(log_dir), 0
    for epoch in range(epochs):
        net.train()
        for x, y in train:
            adam.zero_grad(set_to_none=True)
            loss = F.cross_entropy(net(x.to(device)), y.to(device))
            loss.backward()
            adam.step()
            log.add_scalar("Loss/train", loss.item(), step)
            step += 1
        net.eval()
        loss_sum = hits = 0.0
        with torch.no_grad():
            for x, y in valid:
                logits = net(x.to(device)).cpu()
                loss_sum += F.cross_entropy(logits, y, reduction="sum").item()
                hits += (logits.argmax(1) == y).sum().item()
        log.add_scalar("Loss/validation", loss_sum / len(valid.dataset), epoch)
        log.add_scalar("Accuracy/validation", hits / len(valid.dataset), epoch)
        print(f"epoch {epoch + 1}: accuracy {hits / len(valid.dataset):.3f}")
    log.close()
    return net


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson06"), epochs=2)
