"""Evidence of a healthy run, to be spoilt in one respect at a time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from grader.evidence.eventlog import EventLog
from grader.evidence.records import Crash, Moments, Outcome, Parameter, Place, Probe, Series, Step
from grader.evidence.view import Evidence, Truth

PLACE = Place(34, "forward", "features = F.relu(self.hidden(features))")
CRASH = Crash("RuntimeError", "mat1 and mat2 shapes cannot be multiplied (64x1440 and 1000x50)", (PLACE,), "main")
HIDDEN = [f"layers.{i}.weight" for i in range(8)]


def steps(count: int = 150, **changes: Any) -> tuple[Step, ...]:
    gradients = {**dict.fromkeys(HIDDEN, 0.1), "output.weight": 0.5}
    usual = [Step(i, 2.3 * 0.98**i + 0.2, 64, 0.05, gradients if i < 10 else {}, True, 0.01) for i in range(count)]
    return tuple(replace(s, **changes) for s in usual)


def log(**series: Any) -> EventLog:
    curves = {
        "Loss/train": Series("Loss/train", tuple(range(10)), tuple(2.3 / (i + 1) for i in range(10))),
        "Loss/validation": Series("Loss/validation", (1,), (0.3,)),
        "Accuracy/validation": Series("Accuracy/validation", (1,), (0.92,)),
    }
    for tag, value in series.items():
        name = {"train": "Loss/train", "validation": "Loss/validation", "accuracy": "Accuracy/validation", "test": "Accuracy/test"}[tag]
        if value is None:
            del curves[name]
        else:
            curves[name] = Series(name, *value)
    return EventLog(("events.out.tfevents.1",), curves)


PROBES: dict[str, dict[str, Any]] = {
    "eval_transform": {},
    "batch_sizes": {"sizes": [1, 7, 64, 501]},
    "heldout": {},
    "validation": {},
    "batch_mates": {"difference": 2e-7, "worst": 1e-6, "spread": 5.0},
    "own_gradients": {"loss": 0.3, "norms": {**dict.fromkeys(HIDDEN, 0.2), "output.weight": 0.4}, "probabilities": False},
    "flow": {
        "depth": 8, "hidden": HIDDEN, "last": "output.weight", "first": HIDDEN[0], "used": [*HIDDEN, "output.weight"],
        "feature_op": "max_pool2d", "features": 1.0, "feature_shape": [10, 12, 12], "pixels": 1.0,
    },
    "amplify": {"spreads": [5.0, 50.0, 500.0], "low": -3.0, "high": 4.0, "sum_mean": 0.1, "sum_std": 1.0, "lse": 4.0, "widest": 700.0},
    "first_input": {},
    "transform_twice": {"same": True},
}  # fmt: skip


def probes(**changes: dict[str, Any] | Crash | None) -> dict[str, Probe]:
    made = {name: Probe(name, values) for name, values in PROBES.items()}
    for name, change in changes.items():
        if change is None:
            made.pop(name, None)
        elif isinstance(change, Crash):
            made[name] = Probe(name, {}, change)
        else:
            made[name] = Probe(name, {**PROBES.get(name, {}), **change})
    return made


def parameters(**changes: Any) -> tuple[Parameter, ...]:
    usual = [Parameter(name, (16, 16), True, "cpu", "float32", 0.4, True) for name in (*HIDDEN, "output.weight")]
    return tuple(replace(p, **changes) if i == 0 else p for i, p in enumerate(usual))


def healthy(**changes: Any) -> Evidence:
    """A finished run in which every check passes, with fields replaced."""
    usual = {
        "seconds": 9.0, "all_steps": steps(), "returned": {"type": "DigitNet", "devices": ["cpu"]}, "probes": probes(), "log": log(),
        "writers": {"made": 1, "open": 0}, "data": {"train": 10000, "test": 2000}, "accuracies": {"heldout": 0.91, "validation": 0.92},
        "losses": {"validation": 0.3, "heldout": 0.3}, "all_parameters": parameters(), "logits": {"heldout": np.zeros((4, 10), np.float32)},
        "inputs": {"train": Moments(100, 0.01, 1.0, -0.42, 2.8), "heldout": Moments(100, 0.02, 1.01, -0.42, 2.8)},
        "truth": tuple(Truth(name, 0.1, 0.1) for name in HIDDEN),
    }  # fmt: skip
    return Evidence(**{"leg": "main", "outcome": Outcome.FINISHED, "sentence": "main returned a model", **usual, **changes})


def stopped(outcome: Outcome, sentence: str, **changes: Any) -> Evidence:
    """A run that did not finish."""
    return Evidence("main", outcome, sentence, **changes)
