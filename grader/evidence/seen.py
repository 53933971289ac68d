"""What entered the models of a run, call by call, with the images of the data set recognised in it."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.evidence.recognise import Recognised, recognise, unpack_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from grader.evidence.recognise import Known


@dataclass(frozen=True)
class Call:
    """One call of a model.

    train: a backward pass came through it and it belongs to the returned model's training; step: the training step it belongs to or comes before.
    ids: the numbers of its rows (equal inputs have equal numbers, -1: not kept), empty where no image could be made of the input; images: the
    numbers of the images they show (-1: unknown); answers: the largest score's column, or None; training: the called model's own mode; on / off:
    names of its mode-dependent layers (batch norm, dropout) in training and in eval mode; other: of a model whose training is not the returned one's.
    """

    train: bool
    step: int
    ids: NDArray[np.int64]
    images: NDArray[np.int64]
    answers: NDArray[np.uint8] | None
    training: bool
    on: tuple[str, ...]
    off: tuple[str, ...]
    other: bool = False


@dataclass(frozen=True)
class Seen:
    """The rows and calls of a run.

    rows: the different rows, uint8 (h, w) each; images (n, 28, 28), labels (n,), train: the data set, `train` training images first; index, digit,
    match: for each row, see grader.evidence.recognise.Recognised; calls: in the order of time.
    """

    rows: Sequence[NDArray[np.uint8]]
    images: NDArray[np.uint8]
    labels: NDArray[np.uint8]
    train: int
    index: NDArray[np.int64]
    digit: NDArray[np.int64]
    match: NDArray[np.float32]
    calls: tuple[Call, ...]

    def passes(self) -> list[list[Call]]:
        """Evaluation calls, in groups that no training step divides; a throw-away model's are left out."""
        groups: list[list[Call]] = [[]]
        for call in self.calls:
            if call.train:
                if groups[-1]:
                    groups.append([])
            elif not call.other:
                groups[-1].append(call)
        return [group for group in groups if group]

    def accuracy(self, calls: Sequence[Call], but: NDArray[np.int64]) -> float | None:
        """Accuracy of the answers in some calls, `but` for certain images; None where nothing was answered."""
        import numpy as np

        right, count = 0, 0
        for call in calls:
            if call.answers is not None:
                use = (call.images >= 0) & ~np.isin(call.images, but)
                right += int((call.answers[use] == self.labels[call.images[use]]).sum())
                count += int(use.sum())
        return right / count if count else None


def _recognise(pictures: Sequence[NDArray[np.uint8]], means: Sequence[NDArray[np.uint8]], known: Known) -> Recognised:
    """What each row shows: one image in some of its channels, whatever the others hold (a mask, coordinates), or else in their mean."""
    import numpy as np

    apart = [number for number, picture in enumerate(pictures) if len(picture) > 1]
    channels = [channel for number in apart for channel in pictures[number]]
    found = recognise([*means, *channels], known)
    start = len(means)
    index, digit, match = found.index[:start].copy(), found.digit[:start].copy(), found.match[:start].copy()
    for number in apart:
        part = slice(start, start + len(pictures[number]))
        start = part.stop
        shown = found.index[part]
        if len(np.unique(shown[shown >= 0])) > 1:
            index[number] = digit[number] = -1
        elif (shown >= 0).any():
            best = part.start + int(shown.argmax())
            index[number], digit[number], match[number] = found.index[best], found.digit[best], found.match[best]
    return Recognised(index, digit, match)


def read_seen(rows: Sequence[dict[str, Any]], modes: Sequence[dict[str, Any]], calls: Sequence[dict[str, Any]], mine: set[int], known: Known) -> Seen:
    """The rows and calls of a run; `mine`: the roots that the returned model was trained as.

    Raises ValueError or LookupError where the records contradict each other.
    """
    import numpy as np

    pictures = unpack_rows(rows)
    images = [picture[0] if len(picture) == 1 else picture.mean(axis=0).astype(np.uint8) for picture in pictures]
    found = _recognise(pictures, images, known)
    made: list[Call] = []
    others = {int(r["root"]) for r in calls if r["train"]} - mine
    for record in calls:
        ids = np.frombuffer(base64.b64decode(record["ids"]), dtype="<i4").astype(np.int64)
        if len(ids) and not -1 <= ids.min() <= ids.max() < len(images):
            msg = "a call names rows that were never recorded"
            raise ValueError(msg)
        answers = None if record["answers"] is None else np.frombuffer(base64.b64decode(record["answers"]), dtype=np.uint8)
        if record["inner"]:  # it was given another module's answer: features may look like an image, and are none
            ids = ids[(ids >= 0) & (found.index[ids] >= 0)]
            if not len(ids):
                continue
        mode = modes[record["modes"]]
        shown = np.where(ids >= 0, found.index[ids], -1) if len(found.index) else np.full(len(ids), -1, dtype=np.int64)
        train = bool(record["train"]) and int(record["root"]) in mine
        other, training = int(record["root"]) in others, bool(record["training"])
        made.append(Call(train, int(record["step"]), ids, shown, answers, training, tuple(mode["on"]), tuple(mode["off"]), other))
    return Seen(images, known.images, known.labels, known.train, found.index, found.digit, found.match, tuple(made))
