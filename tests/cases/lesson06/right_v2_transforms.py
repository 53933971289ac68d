# right
# torchvision.transforms.v2 scales first and normalises afterwards; what comes out is a tv_tensors.Image, which is a tensor.
from pathlib import Path

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets
from torchvision.transforms import v2

eval_transform = v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(mean=[0.1307], std=[0.3081])])


class Small(nn.Module):
    """One convolution, pooled hard."""

    def __init__(self):
        super().__init__()
        self.look = nn.Conv2d(1, 12, kernel_size=7, stride=3)
        self.tell = nn.Linear(12 * 8 * 8, 10)

    def forward(self, image):
        return self.tell(nn.functional.leaky_relu(self.look(image)).flatten(1))


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Train with v2 transforms."""
    make = lambda train: datasets.MNIST(data_dir, train=train, transform=eval_transform)  # noqa: E731
    seen, unseen = DataLoader(make(True), batch_size=50, shuffle=True), DataLoader(make(False), batch_size=500)
    model = Small().to(device)
    optimiser = torch.optim.NAdam(model.parameters(), lr=2e-3)
    board = SummaryWriter(log_dir)
    tick = 0
    for epoch in range(epochs):
        model.train()
        for image, digit in seen:
            optimiser.zero_grad()
            loss = nn.functional.cross_entropy(model(image.to(device)), digit.to(device))
            loss.backward()
            optimiser.step()
            board.add_scalar("Loss/train", float(loss), tick)
            tick += 1
        model.eval()
        total = right = 0
        value = 0.0
        with torch.inference_mode():
            for image, digit in unseen:
                answer = model(image.to(device)).cpu()
                value += float(nn.functional.cross_entropy(answer, digit, reduction="sum"))
                right += int((answer.argmax(1) == digit).sum())
                total += len(digit)
        board.add_scalar("Loss/validation", value / total, tick)
        board.add_scalar("Accuracy/validation", right / total, tick)
        print(f"epoch {epoch}: {right}/{total}")
    board.close()
    return model


if __name__ == "__main__":
    torch.manual_seed(0)
    course = Path(__file__).resolve().parents[2]
    main(str(course / "datasets"), str(course / "runs" / "lesson06"), epochs=2)
