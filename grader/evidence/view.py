"""The read-only evidence of one leg, as checks see it. Asking for what is absent raises MissingEvidence with a sentence that a learner can read."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grader.evidence.records import Outcome

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from grader.evidence.eventlog import EventLog
    from grader.evidence.records import Crash, LossSample, Moments, Parameter, Place, Probe, ShapeCall, Step
    from grader.evidence.seen import Seen


class MissingEvidence(Exception):  # noqa: N818 - not an error: the judge turns it into Skipped
    """The evidence a check asked for does not exist, and why."""


@dataclass(frozen=True)
class Truth:
    """A weight's delivered slope against the measured one: along the gradient's direction, the loss must change at the rate |g|."""

    name: str
    delivered: float
    measured: float


@dataclass(frozen=True)
class Evidence:
    """Everything observed in one leg.

    outcome / sentence: how it ended, in one sentence; steps: of the returned model's own training; samples: outputs and gradients of that
    training; inputs: moments of what the first weight layer saw, 'train' and 'eval' as the script did it, 'heldout' in our evaluation;
    accuracies: 'heldout' and 'validation', fractions of our own measurement; losses: cross-entropy of the same outputs; width: scores an
    image, 1 for a binary head, whose accuracies are balanced;
    confusions: for the same sets, how often digit i (row) got its largest score in column j; recorded: see `seen`.
    """

    leg: str
    outcome: Outcome
    sentence: str
    device: str = "cpu"
    simulated: bool = False
    crash: Crash | None = None
    where: Place | None = None
    seconds: float = 0.0
    output_tail: str = ""
    trace: tuple[ShapeCall, ...] = ()
    all_steps: tuple[Step, ...] = ()
    all_samples: tuple[LossSample, ...] = ()
    plain_rows: int = 0
    truth: tuple[Truth, ...] = ()
    truth_error: str | None = None
    inputs: dict[str, Moments] = field(default_factory=dict)
    all_parameters: tuple[Parameter, ...] = ()
    returned: dict[str, Any] = field(default_factory=dict)
    probes: dict[str, Probe] = field(default_factory=dict)
    log: EventLog | None = None
    writers: dict[str, Any] = field(default_factory=dict)
    data: dict[str, int] = field(default_factory=dict)
    accuracies: dict[str, float] = field(default_factory=dict)
    losses: dict[str, float] = field(default_factory=dict)
    logits: dict[str, NDArray[np.float32]] = field(default_factory=dict)
    confusions: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    recorded: Seen | None = None
    epochs: int = 1
    width: int = 10
    unavailable: bool = False
    fault: str | None = None

    def finished(self) -> None:
        """Raise MissingEvidence unless main returned a model and the probes ran."""
        if self.outcome is not Outcome.FINISHED:
            raise MissingEvidence(self._stopped())

    def _stopped(self) -> str:
        if self.outcome is Outcome.RAISED and self.crash is not None:
            return f"the script stopped with {self.crash.type} before this could be seen"
        return f"not judged: {self.sentence}"

    @property
    def steps(self) -> tuple[Step, ...]:
        """The training steps of the returned model.  Raises MissingEvidence if none was seen."""
        self.finished()
        if not self.all_steps:
            msg = "no training step of the returned model was seen"
            raise MissingEvidence(msg)
        return self.all_steps

    def where_called(self) -> Place | None:
        """Where the learner's file calls the model in training, if a step shows it."""
        return next((s.called for s in self.all_steps if s.called is not None), None)

    def where_backward(self) -> Place | None:
        """Where the learner's file starts the backward pass, if a step shows it."""
        return next((s.backed for s in self.all_steps if s.backed is not None), None)

    @property
    def samples(self) -> tuple[LossSample, ...]:
        """Outputs and their gradients in training; possibly empty (a loop without autograd)."""
        self.finished()
        return self.all_samples

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """The returned model's parameters."""
        self.finished()
        return self.all_parameters

    def probe(self, name: str) -> Probe:
        """One probe's answer.  Raises MissingEvidence if it was not asked (an earlier one failed)."""
        self.finished()
        if name not in self.probes:
            msg = "the model could not be questioned that far"
            raise MissingEvidence(msg)
        return self.probes[name]

    def values(self, name: str) -> dict[str, Any]:
        """One probe's values.  Raises MissingEvidence if the model raised instead of answering."""
        probe = self.probe(name)
        if probe.crash is not None:
            msg = f"the model raised {probe.crash.type} when it was asked"
            raise MissingEvidence(msg)
        return probe.values

    @property
    def seen(self) -> Seen:
        """What entered the models.  Raises MissingEvidence if nothing was recorded (only lessons that ask for it have it recorded)."""
        self.finished()
        if self.recorded is None or not any(len(call.ids) for call in self.recorded.calls):
            msg = "no images were seen to enter a model"
            raise MissingEvidence(msg)
        return self.recorded

    def scalars(self) -> EventLog:
        """The event log.  Raises MissingEvidence if the script did not finish or wrote none."""
        self.finished()
        if self.log is None or not self.log.files:
            msg = "there is no event file to read"
            raise MissingEvidence(msg)
        return self.log
