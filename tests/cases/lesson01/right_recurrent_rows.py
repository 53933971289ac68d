# right
# Another kind of network altogether: a GRU reads the 28 rows of the image, so there is no map to flatten.
"""Read a digit row by row."""

import torch
from torch import nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import transforms
from torchvision.datasets import MNIST

eval_transform = transforms.ToTensor()


class RowReader(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.reader = nn.GRU(input_size=28, hidden_size=width, batch_first=True)
        self.speak = nn.Linear(width, 10)

    def forward(self, page):
        _, last = self.reader(page.squeeze(1))  # page (N, 1, 28, 28), last (1, N, width)
        return self.speak(last[0])


def main(data_dir, log_dir, device="cpu", epochs=1):
    reader = RowReader().to(device)
    rule = torch.optim.Adam(reader.parameters(), lr=0.01)
    pages = DataLoader(MNIST(data_dir, train=True, transform=eval_transform), batch_size=40, shuffle=True)
    exam = DataLoader(MNIST(data_dir, train=False, transform=eval_transform), batch_size=500)
    loss_of = nn.CrossEntropyLoss()
    log, tick = SummaryWriter(log_dir), 0
    for epoch in range(epochs):
        reader.train()
        for page, digit in pages:
            rule.zero_grad()
            loss = loss_of(reader(page.to(device)), digit.to(device))
            loss.backward()
            nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
            rule.step()
            if tick % 5 == 0:
                log.add_scalar("Loss/train", loss.item(), tick)
            tick += 1
        reader.eval()
        losses, hits = 0.0, 0
        with torch.inference_mode():
            for page, digit in exam:
                answer = reader(page.to(device)).cpu()
                losses += loss_of(answer, digit).item() * len(digit)
                hits += (answer.argmax(1) == digit).sum().item()
        log.add_scalar("Loss/validation", losses / len(exam.dataset), epoch)
        log.add_scalar("Accuracy/validation", hits / len(exam.dataset), epoch)
        print(f"epoch {epoch}: {hits / len(exam.dataset):.3f}")
    log.close()
    return reader


if __name__ == "__main__":
    main("datasets", "runs/lesson01")
