# right
# torch.func.grad_and_value over a dictionary of weights, a mean image as a buffer; the only .to(device) calls are at the loader's door.
"""Training as a pure function of weights, images and labels."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad_and_value
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import transforms
from torchvision.datasets import MNIST

eval_transform = transforms.ToTensor()


class Centred(nn.Module):
    """Subtract a mean image, then two linear layers."""

    def __init__(self, mean_image):
        super().__init__()
        self.register_buffer("mean_image", mean_image)
        self.first = nn.Linear(784, 80)
        self.second = nn.Linear(80, 10)

    def forward(self, images):
        return self.second(torch.relu(self.first((images - self.mean_image).flatten(1))))


def main(data_dir, log_dir, device="cpu", epochs=1):
    train_set = MNIST(data_dir, train=True, transform=eval_transform)
    model = Centred(train_set.data.float().mean(0, keepdim=True) / 255).to(device)
    loader = DataLoader(train_set, 32, shuffle=True)
    rest = DataLoader(MNIST(data_dir, train=False, transform=eval_transform), 500)
    step_of = grad_and_value(lambda w, x, y: F.cross_entropy(functional_call(model, w, (x,)), y))
    writer = SummaryWriter(log_dir)
    count = 0
    for epoch in range(epochs):
        for images, labels in loader:
            weights = dict(model.named_parameters())
            grads, loss = step_of({k: v.detach() for k, v in weights.items()}, images.to(device), labels.to(device))
            with torch.no_grad():
                for name, weight in weights.items():
                    weight.add_(grads[name], alpha=-0.1)
            writer.add_scalar("Loss/train", loss.item(), count)
            count += 1
        hits, total = 0, 0.0
        with torch.no_grad():
            for images, labels in rest:
                logits = model(images.to(device)).cpu()
                hits += (logits.argmax(1) == labels).sum().item()
                total += F.cross_entropy(logits, labels, reduction="sum").item()
        writer.add_scalar("Loss/validation", total / len(rest.dataset), epoch)
        writer.add_scalar("Accuracy/validation", hits / len(rest.dataset), epoch)
        print(f"epoch {epoch}: {hits / len(rest.dataset):.3f}")
    writer.close()
    return model


if __name__ == "__main__":
    main("datasets", "runs/lesson02", "cuda" if torch.cuda.is_available() else "cpu")
