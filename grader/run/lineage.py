"""Which of the observed trainings made the returned model: by identity, by shared storage, by equal values, at last by equal shapes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import torch

from grader.run.steps import LOOSE, Root
from grader.run.tensors import norms, plain, quiet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torch import nn

    from grader.run.params import Track
    from grader.run.recorder import Recorder

ALONG = 0.3
"""Least cosine between the way to the returned weights and the training's own way.

Averages and checkpoints measure 0.6 and more, a fresh model 0.05.
"""


def relate(recorder: Recorder, model: nn.Module) -> dict[str, Any]:
    """Relate the recorder's roots and modules to the returned model.

    Returns {roots: {root key: {how, names: {name in root: name in model}}}, modules: {module key: name in model}, moved: {name: ratio}}.
    """
    with quiet():
        mine = dict(model.named_parameters())
        ids = {id(p): name for name, p in mine.items()}
        storage = {p.untyped_storage().data_ptr(): name for name, p in mine.items() if p.numel()}
        roots: dict[str, Any] = {}
        moved: dict[str, float] = {}
        loose_track = recorder.loose_track
        candidates: list[tuple[int, Track, list[tuple[str, torch.Tensor]]]] = []
        for root in recorder.roots.values():
            named = root.named()
            root.track.latest(named)
            candidates.append((root.key, root.track, named))
        if loose_track.last:
            loose_track.latest(recorder.loose.named(recorder.loose.closed))
            candidates.append((LOOSE, loose_track, list(zip(loose_track.names, loose_track.last, strict=True))))
        for key, track, named in candidates:
            names = {name: ids[id(p)] for name, p in named if id(p) in ids}
            how = "same"
            if not names:
                names = {n: storage[p.untyped_storage().data_ptr()] for n, p in named if p.untyped_storage().data_ptr() in storage}
            if not names:
                names, how = _equal(track, mine), "equal"
            if not names:
                names, how = _alike(track, mine), "alike"
            if names:
                roots[str(key)] = {"how": how, "names": names}
                if key in recorder.trained or not recorder.trained:  # what is called for validation only was first seen when all was over
                    _movement(track, names, mine, moved)
        _plain_movement(recorder, mine, roots, moved)
        inside = {module: name for name, module in model.named_modules()}
        modules = {str(key): inside[m] for m, key in recorder.outputs.modules.items() if m in inside}
        kept = _closest(roots, recorder.trained)
        earlier = _earlier(recorder, {int(key) for key in kept if not key.startswith("plain")})
    return {"roots": kept, "modules": modules, "moved": moved, "earlier": earlier}


def _earlier(recorder: Recorder, mine: set[int]) -> list[int]:
    """Trainings that a related one began from: its first values are a state of theirs, and not the one that they began with themselves."""
    tracks = {root.key: root.track for root in recorder.roots.values() if root.track.first}
    found: set[int] = set()
    while True:
        new = {
            key
            for key, track in tracks.items()
            if key in recorder.trained and key not in mine | found
            for other in mine | found
            if other in tracks and track.came_to(tracks[other].first)
        }
        if not new:
            return sorted(found)
        found |= new


def _closest(roots: dict[str, Any], trained: set[int]) -> dict[str, Any]:
    """The most closely related roots that were trained; an averaged copy that is only evaluated is no training of its own."""
    for how in ("same", "equal", "alike"):
        kept = {key: root for key, root in roots.items() if root["how"] == how}
        if any(key.startswith("plain") or int(key) in trained for key in kept):
            return kept
    return roots


def _equal(track: Track, mine: Mapping[str, torch.Tensor]) -> dict[str, str]:
    names: dict[str, str] = {}
    for name, last in zip(track.names, track.last, strict=True):
        for other, parameter in mine.items():
            if other not in names.values() and parameter.shape == last.shape and torch.equal(parameter.detach().to(last), last):
                names[name] = other
                break
    return names


def _alike(track: Track, mine: Mapping[str, torch.Tensor]) -> dict[str, str]:
    """Equal shapes, and weights that lie where this training leads: an exact earlier state, or an average along the way.

    A fresh model of the same shapes is no product of the training: its distance from the start points anywhere (cosine near 0).
    """
    names: dict[str, str] = {}
    for name, last in zip(track.names, track.last, strict=True):
        fitting = [n for n, p in mine.items() if p.shape == last.shape and n not in names.values() and _same_end(n, name)]
        if fitting:
            names[name] = fitting[0]
    if set(names.values()) != set(mine):
        if [tuple(t.shape) for t in track.last] != [tuple(p.shape) for p in mine.values()]:
            return {}
        names = dict(zip(track.names, mine, strict=True))
    pairs = [(f, t, plain(mine[names[n]]).to(t)) for n, f, t in zip(track.names, track.first, track.last, strict=True) if n in names]
    if len(names) == len(track.names) and track.seen([r for _, _, r in pairs]):
        return names
    ours = torch.cat([(r - f).double().flatten() for f, _, r in pairs])
    theirs = torch.cat([(t - f).double().flatten() for f, t, _ in pairs])
    if not bool(torch.isfinite(theirs).all()):
        return names
    cosine = float(ours @ theirs / (ours.norm() * theirs.norm()).clamp_min(1e-30))
    return names if cosine > ALONG else {}


def _same_end(one: str, other: str) -> bool:
    """Whether two parameter names agree but for a prefix (a copy of an inner module, a wrapper around it)."""
    return one == other or one.endswith(f".{other}") or other.endswith(f".{one}")


def _movement(track: Track, names: dict[str, str], mine: Mapping[str, torch.Tensor], moved: dict[str, float]) -> None:
    for name, first in zip(track.names, track.first, strict=True):
        target = names.get(name)
        if target is None or mine[target].shape != first.shape:
            continue
        delta, size = norms([plain(mine[target]).to(first) - first, first])
        far = delta / max(size, 1e-12)
        moved[target] = far if not math.isfinite(far) else max(moved.get(target, 0.0), far)  # weights that are NaN have no distance: say so


def _plain_movement(recorder: Recorder, mine: Mapping[str, torch.Tensor], roots: dict[str, Any], moved: dict[str, float]) -> None:
    """Weights of a backward pass written by hand: matched to the model's by storage or value."""
    for number, item in enumerate(recorder.loose.plain.values()):
        for name, parameter in mine.items():
            same = parameter.untyped_storage().data_ptr() == item.tensor.untyped_storage().data_ptr()
            if not same and not (parameter.shape == item.tensor.shape and torch.equal(parameter.detach().to(item.tensor), plain(item.tensor))):
                continue
            if name not in moved and parameter.shape == item.first.shape:
                delta, size = norms([plain(parameter).to(item.first) - item.first, item.first])
                moved[name] = delta / max(size, 1e-12)
            roots[f"plain{number}"] = {"how": "same", "names": {f"plain{number}": name}, "rows": item.rows, "moments": item.moments}
            break


def first_moments(recorder: Recorder, relation: dict[str, Any], first_weight: str | None) -> dict[str, list[float]]:
    """The input moments of the layer that holds `first_weight`, in training and in the script's own evaluation."""
    found: dict[str, list[float]] = {}
    by_key: dict[str, Root] = {str(root.key): root for root in recorder.roots.values()}
    for key in relation["roots"]:
        root = by_key.get(key)
        if root is not None:
            for kind, values in root.moments.items():
                found.setdefault(kind, values)
    if not found:
        loose = relation["roots"].get(str(LOOSE))
        if loose is not None:
            slot = next((n for n, target in loose["names"].items() if target == first_weight), "w0")
            if int(slot[1:]) in recorder.loose.slot_moments:
                found["train"] = recorder.loose.slot_moments[int(slot[1:])]
    if not found:
        for item in relation["roots"].values():
            if "moments" in item and first_weight in item["names"].values():
                found["train"] = item["moments"]
    return found
