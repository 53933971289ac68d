"""The parent's side of a run: a fresh directory, a child a leg, evidence out of what came back.

`start` returns as soon as the children run, so that the caller can load what it needs meanwhile; `Handle.wait` returns the evidence by leg.
"""

from __future__ import annotations

import json
import secrets
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Self

from grader.course.lesson import OFFERS
from grader.evidence.build import RunRecord, build, not_run
from grader.evidence.measure import read_known, read_labels
from grader.evidence.records import Outcome, Place
from grader.run.fence import hidden_from
from grader.run.folders import remove
from grader.run.keep import keep
from grader.run.options import DeviceError, GraderError, RunOptions
from grader.run.process import Child, Ending, Limits
from grader.run.vet import RejectedError, read_source, vet

if TYPE_CHECKING:
    from types import TracebackType

    from grader.course import Lesson
    from grader.evidence.view import Evidence

__all__ = ["DeviceError", "GraderError", "Handle", "RunOptions", "start"]
FILE = "train.py"


@dataclass
class Leg:
    """One leg's child and directory."""

    name: str
    device: str
    folder: Path
    child: Child
    key: bytes


class Handle:
    """A submission that is being run. Use as a context manager or call wait(); either way nothing is left behind."""

    def __init__(self, lesson: Lesson, submission: Path, options: RunOptions) -> None:
        """Make the run directory and start every leg's child."""
        self._lesson, self._submission, self._options = lesson, submission, options
        self._legs: list[Leg] = []
        self.notes: list[str] = []
        self._rejected: Evidence | None = None
        self._folder: Path | None = None
        try:
            self._source = read_source(submission)
            vet(self._source)
        except RejectedError as error:
            self._source = ""
            where = None if error.line is None else self._place(error.line)
            self._rejected = not_run(Outcome.REJECTED, str(error), where)
            return
        try:
            self._folder = Path(tempfile.mkdtemp(prefix="grader-"))
        except OSError as error:
            msg = f"no room for a run directory in {tempfile.gettempdir()}: {error.strerror}. Free some space or point TMPDIR at a disk that has it."
            raise GraderError(msg) from error
        try:
            self._prepare()
        except BaseException:
            self.close()
            raise

    def _place(self, line: int) -> Place | None:
        try:
            text = self._submission.read_text(encoding="utf-8", errors="replace").splitlines()[line - 1].strip()
        except (OSError, IndexError):
            text = ""
        return Place(line, "<module>", text)

    def _prepare(self) -> None:
        self._labels = read_labels(self._options.data_dir)
        self._known = read_known(self._options.data_dir) if "samples" in self._lesson.records else None
        for name in self._lesson.legs:
            wants = self._options.device
            if name == "cpu":
                wants = "cpu"
            elif name == "gpu" and wants in ("auto", "cpu"):
                wants = "gpu"
            self._start(name, wants)

    def _start(self, name: str, wants: str, *, alone: bool = False) -> None:
        assert self._folder is not None
        from grader.data.heldout import load_heldout, perturb

        folder = self._folder / name
        try:
            for part in ("work", "logs", "submission", "tmp"):
                (folder / part).mkdir(parents=True)
            file = folder / "submission" / FILE
            file.write_text(self._source, encoding="utf-8", newline="\n")
            import numpy as np

            images, _ = load_heldout()
            np.save(folder / "images.npy", perturb(images, secrets.randbits(32)))
        except OSError as error:
            msg = f"cannot write to the run directory {folder}: {error.strerror}. Free some space or point TMPDIR at a disk that has it."
            raise GraderError(msg) from error
        key = secrets.token_bytes(32)
        budget, contract = self._lesson.budget, self._lesson.contract
        job = {
            "key": key.hex(), "file": str(file), "source": self._source, "device": wants, "data_dir": str(self._options.data_dir.resolve()),
            "log_dir": str(folder / "logs"), "epochs": self._options.epochs or budget.epochs, "seed": self._options.seed,
            "images": str(folder / "images.npy"), "memory_mb": budget.memory_mb,
            "folder": str(folder), "hidden": hidden_from(self._lesson.root), "salt": secrets.token_hex(8), "picture": self._options.keep is not None,
            "contract": asdict(contract) | {"offers": {name: OFFERS[name] for name in contract.offers}}, "records": list(self._lesson.records),
        }  # fmt: skip
        seconds = self._options.timeout or float(budget.seconds)
        token = secrets.token_hex(16)
        child = Child(json.dumps(job).encode(), folder, Limits(seconds, budget.memory_mb), token, gpu=wants in ("auto", "cuda", "gpu"), alone=alone)
        self._legs.append(Leg(name, wants, folder, child, key))

    def wait(self) -> dict[str, Evidence]:
        """The evidence of every leg, in the lesson's order. When the first leg does not finish, the others are ended and not judged."""
        if self._rejected is not None:
            return {self._lesson.legs[0]: replace(self._rejected, leg=self._lesson.legs[0])}
        try:
            evidence: dict[str, Evidence] = {}
            while self._legs:
                leg = self._legs[0]
                ending = self._watch(leg)
                self._legs.pop(0)
                if ending.why == "lost":
                    self._again(leg)
                    continue
                record = RunRecord(
                    leg.name, self._source, bytes(leg.child.evidence.data), leg.key, ending.why, ending.code, ending.seconds,
                    bytes(leg.child.output.data), leg.folder / "logs", self._labels, ending.peak_mb,
                    self._options.epochs or self._lesson.budget.epochs, self._lesson.contract.positive, self._known,
                )  # fmt: skip
                made = _build(record)
                evidence[leg.name] = made
                note = None if self._options.keep is None else keep(self._options.keep, record, made)
                self.notes += [note] if note else []
                if made.unavailable:
                    msg = f"--device {self._options.device}: PyTorch sees no CUDA device here. Use --device auto, cpu or sim."
                    raise DeviceError(msg)
                if made.outcome is not Outcome.FINISHED and len(evidence) == 1:
                    break
            return evidence
        finally:
            self.close()

    def _again(self, leg: Leg) -> None:
        """Start a leg anew, with nothing left of what it has written; the new one comes last in the list, and its turn now."""
        remove(leg.folder)
        self._start(leg.name, leg.device, alone=True)
        self._legs.insert(0, self._legs.pop())

    def _watch(self, leg: Leg) -> Ending:
        """Wait for one leg while the limits of all of them are watched. An interrupt ends them all (close)."""
        while (ending := leg.child.poll()) is None:
            for other in self._legs:
                other.child.poll()
            leg.child.pause()
        return ending

    def close(self) -> None:
        """End every child that still runs and remove the run directory."""
        for leg in self._legs:
            leg.child.kill()
        self._legs = []
        if self._folder is not None:
            remove(self._folder)
            self._folder = None

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Leave nothing behind."""
        self.close()


def _build(record: RunRecord) -> Evidence:
    """Evidence, whatever the stream holds: what cannot be made sense of was not written by an undisturbed recorder."""
    try:
        return build(record)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        made = not_run(Outcome.TAMPERED, f"the evidence makes no sense ({type(error).__name__})")
        return replace(made, leg=record.leg, seconds=record.seconds)


def start(lesson: Lesson, submission: Path, options: RunOptions) -> Handle:
    """Start grading a submission; returns at once.  Raises GraderError if the machine, not the submission, is at fault."""
    return Handle(lesson, submission, options)
