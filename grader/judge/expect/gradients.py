"""What gradient reaches each parameter, and did the parameters move?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from grader.evidence.view import MissingEvidence
from grader.judge.check import Check, check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from grader.evidence.records import Parameter
    from grader.evidence.view import Evidence

MOVED = 1e-6
"""Least relative movement of a weight over the training: a trained weight moves by 1e-2 and more, an untouched one by exactly 0."""


def _weights(evidence: Evidence) -> list[Parameter]:
    return [p for p in evidence.parameters if p.trainable and p.called and len(p.shape) > 1]


def _parameters_move(evidence: Evidence) -> Passed | Failed:
    expected = "every weight that the forward pass uses receives gradient and moves"
    probed = evidence.values("own_gradients")["norms"]
    weights = _weights(evidence)
    if not weights:
        used = [p for p in evidence.parameters if p.called and len(p.shape) > 1]
        saw = "every weight that the forward pass uses is frozen" if used else "the forward pass uses no weight of two or more dimensions"
        return Failed(saw, expected, None, "List name, shape and requires_grad of model.named_parameters().")
    trained = {name for s in evidence.all_steps for name, norm in s.gradients.items() if norm is not None}
    for p in weights:
        if probed.get(p.name) is None and p.name not in trained:
            saw = f"no gradient reaches {p.name} (its gradient is None, not zero)"
            return Failed(saw, expected, evidence.where_backward(), "Walk from the loss to this weight: print grad_fn of each tensor on the way.")
    if any(p.moved is not None and not math.isfinite(p.moved) for p in weights):
        msg = "the weights are not finite, so that their way cannot be measured"
        raise MissingEvidence(msg)
    still = [p for p in weights if p.moved is not None and p.moved < MOVED]
    if still:
        names = ", ".join(p.name for p in still[:3])
        saw = f"{names} {'has' if len(still) == 1 else 'have'} not moved since training began"
        return Failed(
            saw,
            expected,
            evidence.where_backward(),
            "Print this weight's .grad right after the backward pass: None and zero are different faults.",
            0.0,
            MOVED,
        )
    known = [p for p in weights if p.moved is not None]
    changed = sum(bool(s.changed) for s in evidence.all_steps)
    if not known and changed:  # the weights were put together anew at the end (weight norm removed, layers merged)
        return Passed(f"{len(weights)} weights, changed in {changed} steps")
    if not known:
        return Failed(
            "the returned model's weights were never seen in training", expected, None, "Return the model that the loop trains, not another one."
        )
    least = min(known, key=lambda p: p.moved or 0.0)
    return Passed(f"{len(weights)} weights, least moved {least.name} by {least.moved:.2g} of its size", None, least.moved, MOVED)


parameters_move = Check("parameters_move", "Every weight receives gradient and moves", "gradients", _parameters_move)


@check("gradients")
def none_frozen(evidence: Evidence) -> Passed | Failed:
    """No weight that the forward pass uses is left out of the training."""
    used = [p for p in evidence.parameters if p.called and len(p.shape) > 1]
    frozen = [p.name for p in used if not p.trainable and not (p.moved or 0.0) > 0.0]
    if frozen:
        saw = f"{', '.join(frozen[:3])} {'takes' if len(frozen) == 1 else 'take'} no gradient (requires_grad is False) and never moved"
        step = "List name, shape and requires_grad of model.named_parameters()."
        return Failed(saw, "every weight that the forward pass uses receives gradient and moves", None, step)
    return Passed(f"{len(used)} weights, none of them frozen")


def gradient_norm(least_ratio: float) -> Check:
    """Total and per-layer gradient norms of our own backward pass: finite, not zero, no layer below `least_ratio` of the strongest."""

    def function(evidence: Evidence) -> Passed | Failed:
        norms = {p.name: evidence.values("own_gradients")["norms"].get(p.name) for p in _weights(evidence)}
        known = {name: norm for name, norm in norms.items() if norm is not None}
        if not norms:
            msg = "the model could not be questioned that far"
            raise MissingEvidence(msg)
        total = math.sqrt(sum(n * n for n in known.values()))
        expected = f"a finite total gradient norm, and no layer below {least_ratio:g} of the strongest"
        step = "After a backward pass, print each parameter's gradient norm, first layer to last."
        if not math.isfinite(total):
            return Failed(f"total gradient norm {total}", expected, None, step)
        if total == 0.0:
            return Failed("total gradient norm 0: nothing would be learned from our batch", expected, None, step, 0.0, least_ratio)
        strongest = max(known.values())
        name = min(known, key=lambda n: known[n])
        ratio = known[name] / strongest
        if ratio < least_ratio:
            return Failed(f"{name}: gradient norm {known[name]:.2g}, {ratio:.1g} of the strongest layer's", expected, None, step, ratio, least_ratio)
        return Passed(f"total {total:.2g}; weakest layer {name} at {ratio:.2g} of the strongest", None, ratio, least_ratio)

    return Check("gradient_norm", "Gradient norms are sound, in total and layer by layer", "gradients", function)


def gradient_true(factor: float, *, hidden: bool = False) -> Check:
    """The slope of the loss along each delivered gradient g is |g|, within a `factor` either way; hidden: only hidden layers' weights are asked."""

    def function(evidence: Evidence) -> Passed | Failed:
        evidence.finished()
        inner = set(evidence.values("flow")["hidden"]) if hidden else set()
        expected = "along each delivered gradient g the loss really changes at the rate |g|"
        tested = [t for t in evidence.truth if t.name in inner or not inner] or list(evidence.truth)
        ratios = {t.name: t.measured / t.delivered for t in tested if t.delivered > 0}
        if not ratios or not all(map(math.isfinite, ratios.values())):
            saw = evidence.truth_error or ("it is not finite" if ratios else "it is zero everywhere")
            step = "Call the model twice with the same batch: does it answer both times?"
            if evidence.truth_error is None:
                step = "After a backward pass, print each weight's gradient norm: which are zero, which are not finite?"
            return Failed(f"the gradient could not be compared with the loss: {saw}", expected, None, step)
        apart = {name: max(r, 1 / r) if r > 0 else math.inf for name, r in ratios.items()}
        worst = max(apart, key=lambda n: apart[n])
        if not apart[worst] <= factor:
            saw = f"{worst}: the loss changes at {ratios[worst]:.2g} times the rate that its delivered gradient claims"
            step = "Move one weight by a little, see how the loss changes, and compare with its gradient."
            return Failed(saw, expected, None, step, apart[worst], factor)
        return Passed(f"measured slope / delivered gradient {ratios[worst]:.2f} at worst, {len(ratios)} weights", None, apart[worst], factor)

    return Check("gradient_true", "The gradient that arrives is the slope of the loss", "gradients", function)
