"""The probes: each a function that returns plain values; an exception of the learner's model is recorded by the caller.

The evaluation probes run first. The later ones change the model (training mode, scaled weights); the process ends after them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.nn.functional as F  # noqa: N812 - the field's own name for it

from grader.run.graph import FlowMode, read_flow
from grader.run.probes.ask import forward, rows_spread, sizes_to_try, training_scores, width_of
from grader.run.steps import EMPTY, add_moments
from grader.run.tensors import moments, quiet

if TYPE_CHECKING:
    from torch import nn

MATES, DRAWS, ENOUGH, STILL = 64, 12, 0.98, 0.005


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


def modes(model: nn.Module, batch: torch.Tensor, device: str) -> dict[str, Any]:
    """What training mode does to an image's outputs, relative to their spread: other random numbers (dropout), other batch-mates (batch norm)."""
    model.train()
    half = batch.shape[0] // 2

    def answer(rows: torch.Tensor, seed: int) -> torch.Tensor:
        torch.manual_seed(seed)
        with torch.enable_grad():
            return training_scores(model(rows.to(device).clone()), rows.shape[0], width_of(model)).detach().cpu().float()[:half]

    others = torch.cat([batch[:half], 1.5 * batch[half:] - 0.3])  # of another mean and spread
    first, again, mates = answer(batch, 1), answer(batch, 2), answer(others, 1)
    with quiet():
        spread = max(float(first.max() - first.min()), 1e-6)
        return {"noise": float((again - first).abs().max()) / spread, "mates": float((mates - first).abs().max()) / spread}


def own_gradients(model: nn.Module, batch: torch.Tensor, labels: torch.Tensor, device: str) -> dict[str, Any]:
    """Norm of the gradient that reaches each parameter in backward passes of our own (training mode, our batch, cross-entropy).

    The largest of three passes with different random numbers: a layer that was dropped in one draw is no starved layer.
    """
    model.train()
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    norms: dict[str, float | None] = {n: None for n, _ in named}
    losses: list[float] = []
    for seed in range(3):
        torch.manual_seed(seed)
        for _, p in named:
            p.grad = None
        with torch.enable_grad():
            output = training_scores(model(batch.to(device).clone()), batch.shape[0], width_of(model)).float()
            with quiet():
                sums, low = output.sum(dim=1), float(output.min())
                probabilities = low >= -1e-6 and float((sums - 1).abs().max()) < 1e-3
            target = labels.to(output.device)
            loss = F.nll_loss(output.clamp_min(1e-12).log(), target) if probabilities else F.cross_entropy(output, target)
            losses.append(float(loss.detach()))
            if loss.requires_grad:
                loss.backward()
        with quiet():
            for n, p in named:
                if p.grad is not None:
                    norm = float(p.grad.float().norm())
                    before = norms[n]
                    norms[n] = norm if before is None or not norm <= before else before
    return {"loss": losses[0], "norms": norms, "probabilities": probabilities}


def flow(model: nn.Module, batch: torch.Tensor, device: str) -> dict[str, Any]:
    """Depth and weights of the forward pass, and the share of feature maps' entries that can reach the output.

    The features are tried with noise, so that the blank border of a digit does not look like a feature that nobody reads; more noise is drawn as
    long as it reaches more of them.
    """
    model.train()
    parameters = dict(model.named_parameters(remove_duplicate=False))
    seen: dict[str, Any] = {}
    covered: list[tuple[str, torch.Tensor]] = []
    for seed in range(DRAWS):
        torch.manual_seed(seed)
        noise = torch.randn(2 * MATES, *batch.shape[1:], device="cpu", dtype=batch.dtype) * batch.std().clamp_min(1e-3) + batch.mean()
        leaf = noise.to(device).requires_grad_()
        with torch.enable_grad():
            given = leaf.clone()
            with FlowMode(parameters, given) as mode:
                raw = model(given)
            output = training_scores(raw, leaf.shape[0], width_of(model))
        if not seen:
            seen = {**read_flow(mode, output), "feature_op": None}
        if not output.requires_grad:
            return seen
        now = _reached(leaf, output, mode.maps)
        before = _share(covered)
        covered = now if not covered else [(n, a | b) for (n, a), (_, b) in zip(covered, now, strict=False)]
        if _share(covered) > ENOUGH or (seed and _share(covered) - before < STILL):
            break
    seen["pixels"] = float(covered[0][1].float().mean())
    if len(covered) > 1:
        name, mask = min(covered[1:], key=lambda item: float(item[1].float().mean()))
        seen["feature_op"], seen["features"], seen["feature_shape"] = name, float(mask.float().mean()), list(mask.shape)
    return seen


def _reached(leaf: torch.Tensor, output: torch.Tensor, maps: list[tuple[str, torch.Tensor]]) -> list[tuple[str, torch.Tensor]]:
    """For the image and each feature map: which entries changed a score for at least one of the images."""
    for _, tensor in maps:
        tensor.retain_grad()
    weights = torch.randn(output.shape, device="cpu").to(output)
    (output * weights).sum().backward()
    tensors = [("image", leaf)] + [(n, t) for n, t in maps if t.grad is not None]
    with quiet():
        return [(n, (t.grad != 0).any(dim=0) if t.grad is not None else torch.zeros(t.shape[1:], dtype=torch.bool)) for n, t in tensors]


def _share(covered: list[tuple[str, torch.Tensor]]) -> float:
    return min((float(mask.float().mean()) for _, mask in covered), default=0.0)


def first_input(model: nn.Module, batch: torch.Tensor, device: str) -> dict[str, Any]:
    """What the layers receive, in eval mode, that take the image directly and have a weight of two or more dimensions.

    One list of moments a layer, in the order of the forward pass; the first is the first layer's.
    """
    model.eval()
    totals: list[list[float]] = []
    name = None
    for part in batch.split(MATES * 4):
        given = part.to(device).clone()
        with torch.no_grad(), FlowMode(dict(model.named_parameters(remove_duplicate=False)), given) as mode:
            model(given)
        name = mode.first_weight
        with quiet():
            for index, tensor in enumerate(mode.first_inputs):
                if index == len(totals):
                    totals.append(list(EMPTY))
                add_moments(totals[index], moments(tensor))
    return {"weight": name, "moments": totals}


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
        with torch.no_grad():
            outputs.append(training_scores(model(batch.to(device).clone()), batch.shape[0], width_of(model)).detach().cpu().float())
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
