# right
# No convolution at all: a perceptron on the 784 pixels, log-probabilities with NLLLoss, logged by tensorboardX.
"""A two-layer perceptron."""

import torch
import torchvision
from tensorboardX import SummaryWriter


def eval_transform(picture):
    """PIL image -> (1, 28, 28), from 0 to 1."""
    return torchvision.transforms.functional.to_tensor(picture)


class Perceptron(torch.nn.Sequential):
    def __init__(self):
        super().__init__(
            torch.nn.Flatten(),
            torch.nn.Linear(28 * 28, 100),
            torch.nn.ReLU(),
            torch.nn.Linear(100, 10),
            torch.nn.LogSoftmax(dim=1),
        )


def main(data_dir, log_dir, device="cpu", epochs=1):
    seen = torchvision.datasets.MNIST(data_dir, train=True, transform=eval_transform)
    unseen = torchvision.datasets.MNIST(data_dir, train=False, transform=eval_transform)
    brain = Perceptron().to(device)
    tutor = torch.optim.RMSprop(brain.parameters(), lr=0.001)
    diary = SummaryWriter(log_dir)
    page = 0
    for epoch in range(epochs):
        brain.train()
        for pictures, digits in torch.utils.data.DataLoader(seen, batch_size=40, shuffle=True):
            loss = torch.nn.functional.nll_loss(brain(pictures.to(device)), digits.to(device))
            tutor.zero_grad()
            loss.backward()
            tutor.step()
            page += 1
            diary.add_scalar("Loss/train", loss.item(), page)
        brain.eval()
        with torch.no_grad():
            scores = torch.cat([brain(p.to(device)).cpu() for p, _ in torch.utils.data.DataLoader(unseen, batch_size=200)])
        truth = unseen.targets
        accuracy = (scores.argmax(1) == truth).float().mean().item()
        diary.add_scalar("Loss/validation", torch.nn.functional.nll_loss(scores, truth).item(), page)
        diary.add_scalar("Accuracy/validation", accuracy, page)
        print(f"epoch {epoch + 1}: {accuracy:.3f}")
    diary.close()
    return brain


if __name__ == "__main__":
    main("datasets", "runs/lesson01")
