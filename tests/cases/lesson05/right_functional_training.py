# right
# Training with torch.func: the weights are a dictionary, updates make a new dictionary, and the module receives the result at the end; the rate is 0.1 without momentum.
from pathlib import Path

import torch
import torchvision
from torch.func import functional_call, grad_and_value
from torch.utils.tensorboard import SummaryWriter

eval_transform = torchvision.transforms.Compose([torchvision.transforms.ToTensor(), lambda image: (image - 0.1307) / 0.3081])


def read(root, train, device):
    """All images and labels of a split, on the device."""
    split = torchvision.datasets.MNIST(root, train, transform=eval_transform)
    return torch.stack([pixels for pixels, _ in split]).to(device), split.targets.to(device)


def main(data_dir, log_dir, device="cpu", epochs=1):
    """Pure-function training; returns the module with the trained weights in it."""
    inputs, targets = read(data_dir, True, device)
    held_inputs, held_targets = read(data_dir, False, device)
    hidden = torch.nn.Sequential(torch.nn.Linear(784, 64), torch.nn.GELU())
    module = torch.nn.Sequential(torch.nn.Flatten(), hidden, torch.nn.Linear(64, 10)).to(device)
    weights = {name: value.detach().clone() for name, value in module.named_parameters()}

    def objective(current, x, t):
        return torch.nn.functional.cross_entropy(functional_call(module, current, (x,)), t)

    slope = grad_and_value(objective)
    record = SummaryWriter(log_dir)
    turn = 0
    for epoch in range(epochs):
        module.train()
        for chosen in torch.randperm(len(inputs)).to(device).split(40):
            slopes, loss = slope(weights, inputs[chosen], targets[chosen])
            weights = {name: value - 0.1 * slopes[name] for name, value in weights.items()}
            record.add_scalar("Loss/train", loss.item(), turn)
            turn += 1
        module.eval()
        with torch.no_grad():
            out = functional_call(module, weights, (held_inputs,))
        loss, accuracy = torch.nn.functional.cross_entropy(out, held_targets).item(), (out.argmax(1) == held_targets).float().mean().item()
        record.add_scalar("Loss/validation", loss, turn)
        record.add_scalar("Accuracy/validation", accuracy, turn)
        print(f"[{epoch + 1}/{epochs}] {loss:.3f} {accuracy:.3f}")
    record.close()
    module.load_state_dict(weights)
    return module


if __name__ == "__main__":
    torch.manual_seed(0)
    base = Path(__file__).resolve().parents[2]
    main(str(base / "datasets"), str(base / "runs" / "lesson05"), epochs=2)
