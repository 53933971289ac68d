"""The probes: each a function that returns plain values; an exception of the learner's model is recorded by the caller.

The evaluation probes run first. The later ones change the model (training mode, scaled weights); the process ends after them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812 - the field's own name for it

from grader.run.graph import FlowMode, read_flow
from grader.run.probes.ask import forward, rows_spread, sizes_to_try, to_plain
from grader.run.tensors import moments, quiet

if TYPE_CHECKING:
    from torch import nn

MATES = 64


def batch_sizes(model: nn.Module, batch: torch.Tensor, device: str, largest: int) -> dict[str, Any]:
    """Does the model take batches of 1, 7, 64 and more rows than in training?  Raises what the model raises, naming the size."""
    model.eval()
    sizes = sizes_to_try(largest, batch.shape[0])
    for size in sizes:
        part = batch[:size] if size <= batch.shape[0] else batch.repeat(size // batch.shape[0] + 1, 1, 1, 1)[:size]
        try:
            forward(model, part, device)
        except Exception as error:
            error.add_note(f"batch of {size}")
            raise
    return {"sizes": list(sizes)}


def batch_mates(model: nn.Module, batch: torch.Tensor, device: str, largest: int) -> dict[str, Any]:
    """The largest change of a sample's output when its batch-mates change, relative to the outputs' spread (eval mode)."""
    model.eval()
    rows = batch[:MATES]
    alone = torch.cat([forward(model, row[None], device) for row in rows])
    order = torch.arange(MATES, device="cpu").flip(0)
    sevens = torch.cat([forward(model, part, device) for part in rows[order].split(7)])[order]
    big = sizes_to_try(largest, batch.shape[0])[-1]
    others = batch[MATES:].repeat(big // max(batch.shape[0] - MATES, 1) + 1, 1, 1, 1)[: max(big - MATES, 1)]
    crowd = forward(model, torch.cat([others, rows]), device)[-MATES:]
    whole = forward(model, rows, device)
    with quiet():
        spread = max(float((whole.max() - whole.min()).abs()), 1e-6)
        worst = max(float((other - alone).abs().max()) for other in (sevens, crowd, whole))
    return {"difference": worst / spread, "worst": worst, "spread": spread}


def own_gradients(model: nn.Module, batch: torch.Tensor, labels: torch.Tensor, device: str) -> dict[str, Any]:
    """Norm of the gradient that reaches each parameter in a backward pass of our own (training mode, our batch, cross-entropy)."""
    model.train()
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    torch.manual_seed(0)
    with torch.enable_grad():
        output = to_plain(model(batch.to(device)), batch.shape[0]).float()
        target = labels.to(output.device)
        with quiet():
            sums, low = output.sum(dim=1), float(output.min())
            probabilities = low >= -1e-6 and float((sums - 1).abs().max()) < 1e-3
        loss = F.nll_loss(output.clamp_min(1e-12).log(), target) if probabilities else F.cross_entropy(output, target)
        if not loss.requires_grad:
            return {"loss": float(loss), "norms": {n: None for n, _ in named}, "probabilities": probabilities}
        gradients = torch.autograd.grad(loss, [p for _, p in named], allow_unused=True)
    with quiet():
        norms = {n: None if g is None else float(g.float().norm()) for (n, _), g in zip(named, gradients, strict=True)}
    return {"loss": float(loss.detach()), "norms": norms, "probabilities": probabilities}


def flow(model: nn.Module, batch: torch.Tensor, device: str) -> dict[str, Any]:
    """Depth and weights of the forward pass, and the share of the last feature map's entries that can reach the output.

    The features are tried with noise, so that the blank border of a digit does not look like a feature that nobody reads.
    """
    model.train()
    torch.manual_seed(0)
    noise = torch.randn(2 * MATES, *batch.shape[1:], device="cpu") * batch.std().clamp_min(1e-3) + batch.mean()
    given = noise.to(device).requires_grad_()
    parameters = dict(model.named_parameters(remove_duplicate=False))
    with torch.enable_grad(), FlowMode(parameters, given) as mode:
        output = model(given)
    output = to_plain(output, given.shape[0])
    seen = read_flow(mode, output)
    images = [(name, t) for name, t in mode.images if t is not output]
    seen["feature_op"] = None
    if output.requires_grad:
        weights = torch.randn(output.shape, device="cpu").to(output.device)
        targets = [given] + [t for _, t in images[-1:]]
        gradients = torch.autograd.grad((output * weights).sum(), targets, allow_unused=True)
        with quiet():
            shares = [0.0 if g is None else float((g != 0).any(dim=0).float().mean()) for g in gradients]
        seen["pixels"] = shares[0]
        if images:
            seen["feature_op"], seen["features"] = images[-1][0], shares[1]
            seen["feature_shape"] = list(images[-1][1].shape[1:])
    return seen


def first_input(model: nn.Module, batch: torch.Tensor, device: str) -> dict[str, Any]:
    """What the first layer with a weight of two or more dimensions receives for this batch in eval mode."""
    model.eval()
    total = [0, 0.0, 0.0, float("inf"), float("-inf")]
    name = None
    for part in batch.split(MATES * 4):
        given = part.to(device)
        with torch.no_grad(), FlowMode(dict(model.named_parameters(remove_duplicate=False)), given) as mode:
            model(given)
        name = mode.first_weight
        if mode.first_input is None:
            return {"weight": None}
        with quiet():
            new = moments(mode.first_input)
        total = [total[0] + new[0], total[1] + new[1], total[2] + new[2], min(total[3], new[3]), max(total[4], new[4])]
    return {"weight": name, "moments": total}


def amplify(model: nn.Module, batch: torch.Tensor, device: str, last: str | None) -> dict[str, Any]:
    """Can the outputs spread without limit?

    The output layer (and what follows it) is scaled by 1, 10 and 100; logits grow along, a softmax saturates.
    """
    model.train()
    names = [n for n, _ in model.named_parameters()]
    start = names.index(last) if last in names else 0
    scaled = [p for n, p in list(model.named_parameters())[start:] if p.is_floating_point()]
    outputs: list[torch.Tensor] = []
    for factor in (1.0, 10.0, 10.0):
        with quiet():
            for parameter in scaled:
                parameter.data.mul_(factor)
        torch.manual_seed(0)
        outputs.append(forward(model, batch, device))
    base, _, output = outputs
    with quiet():
        sums = base.sum(dim=1)
        return {
            "spreads": [rows_spread(o) for o in outputs],
            "low": float(base.min()),
            "high": float(base.max()),
            "sum_mean": float(sums.mean()),
            "sum_std": float(sums.std()),
            "lse": float(base.double().logsumexp(dim=1).abs().max()),
            "widest": float((output.max(dim=1).values - output.min(dim=1).values).max()),
        }
