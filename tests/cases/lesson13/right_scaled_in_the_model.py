# right
# eval_transform gives floats from 0 to 255, for training and evaluation alike, and the model's first act is to divide by a buffer of 255.
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.tensorboard import SummaryWriter
from torchvision.datasets import MNIST


def eval_transform(picture):
    """PIL image -> float bytes (1, 28, 28)."""
    return torch.tensor(np.asarray(picture, dtype=np.float32)).unsqueeze(0)


class Reader(torch.nn.Module):
    """It knows which unit it gets, and takes that along in its state dict."""

    def __init__(self):
        super().__init__()
        self.register_buffer("white", torch.tensor(255.0))
        self.look = torch.nn.Conv2d(1, 10, 5, stride=3)
        self.say = torch.nn.Linear(10 * 8 * 8, 10)

    def forward(self, grey):
        return self.say(F.elu(self.look(grey / self.white - 0.13)).flatten(1))


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Adam over tensors, batches drawn with replacement."""
    x, y = (lambda d: (d.data[:, None].float(), d.targets))(MNIST(data_dir, train=True))
    u, v = (lambda d: (d.data[:, None].float(), d.targets))(MNIST(data_dir, train=False))
    model = Reader().to(device)
    adam = torch.optim.Adam(model.parameters(), lr=0.003)
    log = SummaryWriter(log_dir)
    for i in range(epochs * len(x) // 50):
        some = torch.randint(len(x), (50,))
        loss = F.cross_entropy(model(x[some].to(device)), y[some].to(device))
        adam.zero_grad()
        loss.backward()
        adam.step()
        log.add_scalar("Loss/train", loss.item(), i)
    model.eval()
    with torch.inference_mode():
        scores = model(u.to(device)).cpu()
    log.add_scalar("Loss/validation", F.cross_entropy(scores, v).item(), 1)
    log.add_scalar("Accuracy/validation", (scores.argmax(1) == v).double().mean().item(), 1)
    log.close()
    return model


if __name__ == "__main__":
    main(str(Path(__file__).resolve().parents[2] / "datasets"), "runs/lesson13")
