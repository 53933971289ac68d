# right
# torch.func throughout: functional_call and grad_and_value on a dictionary of weights, which the module gets back at the end of every epoch.
"""A convolutional network trained as a pure function."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad_and_value
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms

RATE = 0.3

eval_transform = transforms.ToTensor()


def main(data_dir, log_dir, device="cpu", epochs=1):
    model = nn.Sequential(nn.Conv2d(1, 10, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(1440, 50), nn.ReLU(), nn.Linear(50, 10)).to(device)
    weights = {name: p.detach().clone() for name, p in model.named_parameters()}

    def objective(w, x, y):
        return F.cross_entropy(functional_call(model, w, (x,)), y)

    gradient = grad_and_value(objective)
    train = DataLoader(datasets.MNIST(data_dir, train=True, transform=eval_transform), batch_size=50, shuffle=True)
    held = DataLoader(datasets.MNIST(data_dir, train=False, transform=eval_transform), batch_size=400)
    with SummaryWriter(log_dir) as writer:
        for epoch in range(epochs):
            for i, (x, y) in enumerate(train):
                grads, loss = gradient(weights, x.to(device), y.to(device))
                weights = {name: w - RATE * grads[name] for name, w in weights.items()}
                writer.add_scalar("Loss/train", loss.item(), epoch * len(train) + i)
            model.load_state_dict(weights)
            with torch.no_grad():
                outs, labels = zip(*[(model(x.to(device)).cpu(), y) for x, y in held], strict=True)
            out, label = torch.cat(outs), torch.cat(labels)
            accuracy = (out.argmax(1) == label).float().mean().item()
            writer.add_scalar("Loss/validation", F.cross_entropy(out, label).item(), epoch)
            writer.add_scalar("Accuracy/validation", accuracy, epoch)
            print(f"epoch {epoch}: accuracy {accuracy:.3f}")
    return model


if __name__ == "__main__":
    main("datasets", "runs/lesson01")
