"""The Check type: a named, pure function of the evidence, and how an answer is drawn from it."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from grader.evidence.view import Evidence, MissingEvidence
from grader.judge.verdict import Answer, Broken, Failed, Passed, Result, Skipped

CheckFunction = Callable[[Evidence], Passed | Failed]
GROUPS = ("run", "shapes", "gradients", "behaviour", "tensorboard", "accuracy")


@dataclass(frozen=True)
class Check:
    """One check of a lesson.

    id: a snake_case name, unique in the lesson (`breaks` and the cases name it); title: what the learner reads; group: one of GROUPS;
    leg: which leg's evidence it judges ('main' unless the lesson has several); needs: ids of earlier checks without which it could only echo.
    """

    id: str
    title: str
    group: str
    function: CheckFunction
    leg: str = "main"
    needs: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a group that the report does not know."""
        if self.group not in GROUPS:
            msg = f"check {self.id}: group {self.group!r} is not one of {', '.join(GROUPS)}"
            raise ValueError(msg)

    def on(self, leg: str) -> Check:
        """The same check on another leg; its id gains the leg's name as a suffix."""
        return replace(self, id=f"{self.id}_{leg}", leg=leg, needs=tuple(f"{name}_{leg}" for name in self.needs))

    def after(self, *needs: str) -> Check:
        """The same check, skipped when one of these earlier checks has failed."""
        return replace(self, needs=(*self.needs, *needs))


def check(group: str) -> Callable[[CheckFunction], Check]:
    """Make a Check of a plain function: its name is the id, its docstring's first line the title."""

    def wrap(function: CheckFunction) -> Check:
        title = (function.__doc__ or "").strip().split("\n")[0].rstrip(".")
        if not title:
            msg = f"check {function.__name__} needs a docstring: its first line is the title that learners read"
            raise ValueError(msg)
        return Check(function.__name__, title, group, function)

    return wrap


def answer(item: Check, evidence: Mapping[str, Evidence]) -> Result:
    """Ask one check. Missing evidence becomes Skipped; any other exception is our bug and becomes Broken."""
    outcome: Answer
    try:
        leg = evidence.get(item.leg)
        outcome = Skipped(f"the {item.leg} leg did not run") if leg is None else item.function(leg)
    except MissingEvidence as missing:
        outcome = Skipped(str(missing))
    except Exception as error:  # noqa: BLE001 - a check is author-written code: its failure must become Broken, not end the batch
        where = traceback.extract_tb(error.__traceback__)[-1]
        outcome = Broken(f"{type(error).__name__}: {error} ({where.filename}:{where.lineno})")
    return Result(item.id, item.title, item.group, outcome, item.leg)
