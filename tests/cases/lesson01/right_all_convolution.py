# right
# The linear layers become convolutions: a 12 x 12 kernel is the hidden layer, so no feature count has to be written down anywhere.
"""A fully convolutional classifier."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import transforms
from torchvision.datasets import MNIST

eval_transform = transforms.ToTensor()


class AllConvolution(nn.Module):
    def __init__(self):
        super().__init__()
        self.edges = nn.Conv2d(1, 10, 5)
        self.whole = nn.Conv2d(10, 50, 12)
        self.classes = nn.Conv2d(50, 10, 1)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.edges(x)), 2)  # (N, 10, 12, 12)
        x = F.relu(self.whole(x))  # (N, 50, 1, 1)
        return self.classes(x)[:, :, 0, 0]


def main(data_dir, log_dir, device="cpu", epochs=1):
    torch.manual_seed(7)
    net = AllConvolution().to(device)
    opt = torch.optim.SGD(net.parameters(), lr=0.04, momentum=0.9, nesterov=True)
    data = DataLoader(MNIST(data_dir, train=True, transform=eval_transform), batch_size=64, shuffle=True)
    exam = DataLoader(MNIST(data_dir, train=False, transform=eval_transform), batch_size=256)
    with SummaryWriter(log_dir) as w:
        for e in range(epochs):
            for i, (x, y) in enumerate(data):
                opt.zero_grad()
                loss = F.cross_entropy(net(x.to(device)), y.to(device))
                loss.backward()
                opt.step()
                w.add_scalar("Loss/train", loss.item(), e * len(data) + i)
            good, loss_sum = 0, 0.0
            with torch.no_grad():
                for x, y in exam:
                    out = net(x.to(device)).cpu()
                    good += (out.argmax(1) == y).sum().item()
                    loss_sum += F.cross_entropy(out, y, reduction="sum").item()
            w.add_scalar("Loss/validation", loss_sum / len(exam.dataset), e)
            w.add_scalar("Accuracy/validation", good / len(exam.dataset), e)
            print(f"epoch {e}: {good / len(exam.dataset):.3f}")
    return net


if __name__ == "__main__":
    main("datasets", "runs/lesson01")
