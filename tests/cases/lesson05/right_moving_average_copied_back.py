# right
# Adam at 2e-3, a moving average of the weights beside it, and the average is copied into the model at the end, before the last validation.
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

eval_transform = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.13,), (0.31,))])


@torch.no_grad()
def mix(average, weights, keep):
    """average <- keep * average + (1 - keep) * weights."""
    for a, w in zip(average, weights, strict=True):
        a.lerp_(w, 1 - keep)


@torch.no_grad()
def examine(net, loader, device, log, step):
    """Log the validation loss and accuracy."""
    net.eval()
    wrong, cost, seen = 0, 0.0, 0
    for x, y in loader:
        out = net(x.to(device))
        cost += nn.functional.cross_entropy(out, y.to(device)).item() * len(y)
        wrong += (out.argmax(-1).cpu() != y).sum().item()
        seen += len(y)
    log.add_scalar("Loss/validation", cost / seen, step)
    log.add_scalar("Accuracy/validation", 1 - wrong / seen, step)
    print(f"step {step}: {cost / seen:.3f}, {wrong} of {seen} wrong")


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train; return the model with averaged weights."""
    loaders = [DataLoader(datasets.MNIST(data_dir, t, transform=eval_transform), batch_size=80, shuffle=t) for t in (True, False)]
    net = nn.Sequential(nn.Conv2d(1, 8, 5, stride=3), nn.Hardswish(), nn.Flatten(), nn.Linear(8 * 8 * 8, 10)).to(device)
    average = [w.detach().clone() for w in net.parameters()]
    adam = torch.optim.AdamW(net.parameters(), lr=2e-3)
    log = SummaryWriter(log_dir)
    step = 0
    for epoch in range(epochs):
        net.train()
        for x, y in loaders[0]:
            adam.zero_grad()
            loss = nn.functional.cross_entropy(net(x.to(device)), y.to(device))
            loss.backward()
            adam.step()
            mix(average, net.parameters(), min(0.95, step / 10))
            log.add_scalar("Loss/train", loss.item(), step)
            step += 1
        if epoch + 1 == epochs:
            mix(list(net.parameters()), average, 0.0)
        examine(net, loaders[1], device, log, step)
    log.close()
    return net


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson05"), epochs=2)
