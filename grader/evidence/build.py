"""From what a child wrote to Evidence: lines verified one by one, contradictions noticed, labels joined only here, in the parent.

Whatever is missing, half-written or contradictory is a failure with a reason, never a pass: `FINISHED` needs an intact stream with its last line.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from grader.evidence.codec import BadLineError, decode, unpack_floats
from grader.evidence.eventlog import read_event_log
from grader.evidence.measure import confusions, measure
from grader.evidence.outcome import outcome_of
from grader.evidence.records import LossSample, Moments, Outcome, Parameter, Place, Probe, ShapeCall, Step
from grader.evidence.seen import read_seen
from grader.evidence.view import Evidence, Truth

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from grader.evidence.recognise import Known
    from grader.evidence.seen import Seen


@dataclass(frozen=True)
class RunRecord:
    """What one leg's child left: its evidence stream, its exit, its prints, its log directory; plus what the parent knew before it began.

    key and source: for reading the stream; labels: of the held-out and the validation images, known: the images themselves where the lesson has
    samples recorded, both read before the submission ran; positive: the digit of a binary head.
    """

    leg: str
    source: str
    stream: bytes
    key: bytes
    why: str
    code: int | None
    seconds: float
    output: bytes
    log_dir: Path
    labels: dict[str, NDArray[np.uint8]]
    peak_mb: float
    epochs: int = 1
    positive: int | None = None
    known: Known | None = None


def not_run(outcome: Outcome, sentence: str, where: Place | None = None) -> Evidence:
    """Evidence of a submission that never ran."""
    return Evidence("main", outcome, sentence, where=where)


def read_stream(stream: bytes, key: bytes) -> tuple[list[dict[str, Any]], str | None]:
    """The records of a stream, and what is wrong with it (None if it is whole)."""
    records: list[dict[str, Any]] = []
    for number, line in enumerate(stream.split(b"\n")[:-1]):
        try:
            records.append(decode(line, number, key))
        except (BadLineError, ValueError) as error:
            return records, str(error)
    return records, None


class Records:
    """The records of one stream, by kind."""

    def __init__(self, records: list[dict[str, Any]]) -> None:
        """Keep them in order."""
        self.items = records

    def all(self, kind: str) -> list[dict[str, Any]]:
        """Every record of a kind."""
        return [r for r in self.items if r.get("k") == kind]

    def one(self, kind: str) -> dict[str, Any]:
        """The last record of a kind, or an empty one."""
        found = self.all(kind)
        return found[-1] if found else {}


def build(run: RunRecord) -> Evidence:
    """Evidence of one leg."""
    raw, damage = read_stream(run.stream, run.key)
    records = Records(raw)
    lines = run.source.split("\n")
    outcome, sentence, crash, where = outcome_of(run, records, damage, lines)
    hello = records.one("hello")
    trace = tuple(_call(c, lines) for c in (records.one("trace") or {}).get("calls", []))
    common: dict[str, Any] = {
        "leg": run.leg, "outcome": outcome, "sentence": sentence, "device": hello.get("device", "cpu"), "simulated": hello.get("simulated", False),
        "crash": crash, "where": where, "seconds": run.seconds, "output_tail": run.output.decode("utf-8", "replace")[-4000:], "trace": trace,
        "unavailable": bool(records.all("unavailable")), "epochs": run.epochs, "fault": _fault(run, records),
        "width": 10 if run.positive is None else 1,
    }  # fmt: skip
    if outcome is not Outcome.FINISHED:
        return Evidence(**common)
    relation = records.one("returned")["relation"]
    logits = {r["set"]: unpack_floats(r) for r in records.all("logits")}
    accuracies, losses = measure(logits, run.labels, run.positive)
    truth = records.one("truth") or {"error": "the model was not questioned that far"}
    moments = {kind: m for kind, values in records.one("first_inputs").items() if kind != "k" and (m := _moments(values)) is not None}
    probes = {r["name"]: Probe(r["name"], r["values"], _crash_of(r["crash"], lines)) for r in records.all("probe")}
    seen = [
        m for values in (probes["first_input"].values.get("moments", []) if "first_input" in probes else []) if (m := _moments(values)) is not None
    ]
    if seen:  # of several layers that take the image directly, the one that is furthest from standardised input
        moments["heldout"] = max(seen, key=lambda m: max(abs(m.mean), abs(m.std - 1.0)))
    return Evidence(
        **common,
        all_steps=_steps(records, relation, lines),
        all_samples=_samples(records, relation),
        plain_rows=max((r.get("rows", 0) for r in relation["roots"].values()), default=0),
        truth=tuple(Truth(*t) for t in zip(truth.get("names", ()), truth.get("analytic", ()), truth.get("measured", ()), strict=True)),
        truth_error=truth.get("error"),
        inputs=moments,
        all_parameters=tuple(
            Parameter(p["name"], tuple(p["shape"]), p["trainable"], p["device"], p["dtype"], p["moved"], p["called"])
            for p in records.one("parameters").get("items", [])
        ),
        returned=records.one("returned"),
        probes=probes,
        log=read_event_log(run.log_dir),
        writers=records.one("writers"),
        data=records.one("data"),
        accuracies=accuracies,
        losses=losses,
        logits=logits,
        confusions=confusions(logits, run.labels),
        recorded=_seen(run, records, relation),
    )


def _seen(run: RunRecord, records: Records, relation: dict[str, Any]) -> Seen | None:
    if run.known is None:
        return None
    mine = {int(root) for root in relation["roots"] if not root.startswith("plain")} | {int(root) for root in relation.get("earlier", ())}
    return read_seen(records.all("rows"), records.all("modes"), records.all("call"), mine, run.known)


def _fault(run: RunRecord, records: Records) -> str | None:
    """Our own failure in this run, in one sentence; None if there was none."""
    for record in records.all("fault"):
        return f"the recorder failed: {record['what']} ({record['where']})"
    if run.why == "exit" and not records.all("hello") and not records.all("unavailable"):
        last = run.output.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
        return f"the child process could not start (exit code {run.code}: {last}); reinstall with pip install -e . and try again"
    return None


def _call(call: dict[str, Any], lines: list[str]) -> ShapeCall:
    inputs = tuple(tuple(shape) for shape in call["in"])
    output = None if call["out"] is None else tuple(call["out"])
    return ShapeCall(call["name"], call["kind"], inputs, output, call["depth"], place(call["place"], lines))


def place(record: dict[str, Any] | None, lines: list[str]) -> Place | None:
    """A recorded line number with its code."""
    if record is None:
        return None
    number = int(record["line"])
    return Place(number, str(record["function"]), lines[number - 1].strip() if 0 < number <= len(lines) else "")


def _crash_of(record: dict[str, Any] | None, lines: list[str]) -> Any:
    from grader.evidence.outcome import crash_from

    return None if record is None else crash_from(record, lines)


def _moments(values: Any) -> Moments | None:
    if not values or not values[0]:
        return None
    count, total, square, low, high = values
    mean = total / count
    return Moments(int(count), mean, max(square / count - mean * mean, 0.0) ** 0.5, low, high)


def _steps(records: Records, relation: dict[str, Any], lines: list[str]) -> tuple[Step, ...]:
    mine: dict[str, dict[str, str]] = {key: root["names"] for key, root in relation["roots"].items()}
    steps: list[Step] = []
    for r in records.all("step"):
        if not any(str(root) in mine for root in r["roots"]):
            continue
        gradients: dict[str, float | None] = {}
        for key, norm in r["grads"].items():
            root, _, name = key.partition(":")
            if name in mine.get(root, {}):
                gradients[mine[root][name]] = norm
        steps.append(
            Step(
                r["i"], r["loss"], r["rows"], r["lr"], gradients, r["changed"], r["update"], r["revisits"], r["finite"], r["pdev"], r["idev"],
                place(r["called"], lines), place(r["backed"], lines), r["jump"], r["dropped"], r["stale"], r["nodes"],
            )
        )  # fmt: skip
    return tuple(steps)


def _samples(records: Records, relation: dict[str, Any]) -> tuple[LossSample, ...]:
    """For each step the output of the returned model itself, else of the module around it, else the operand of the loss."""
    inside = relation["modules"]
    own = {key for key, name in inside.items() if name == ""}
    best: dict[int, tuple[int, dict[str, Any]]] = {}
    for r in records.all("sample"):
        keys = {str(k) for k in r["of"]}
        rank = 3 if keys & own else 2 if not keys & set(inside) and keys != {"-1"} else 1 if keys & set(inside) else 0
        if r["step"] not in best or rank >= best[r["step"]][0]:
            best[r["step"]] = (rank, r)
    return tuple(LossSample(step, tuple(tuple(row) for row in r["z"]), tuple(tuple(row) for row in r["g"])) for step, (_, r) in sorted(best.items()))
