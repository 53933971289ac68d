"""Exactly one outcome for a run, and one sentence that says how it ended."""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING, Any

from grader.evidence.records import Crash, Outcome, Place

if TYPE_CHECKING:
    from grader.evidence.build import Records, RunRecord

STAGES = {
    "import": "while the file was imported",
    "main": "in main",
    "probes": "while the returned model was questioned",
    "": "before the file was imported",
}


def crash_from(record: dict[str, Any], lines: list[str]) -> Crash:
    """A recorded exception, its places with their code."""
    places = tuple(
        Place(p["line"], str(p["function"]), lines[p["line"] - 1].strip() if 0 < p["line"] <= len(lines) else "") for p in record["places"]
    )
    message = " ".join(part for part in (record["message"], record.get("notes", "")) if part)
    return Crash(record["type"], message, places, record["during"])


Ending = tuple[Outcome, str, Crash | None, Place | None]


def outcome_of(run: RunRecord, records: Records, damage: str | None, lines: list[str]) -> Ending:
    """(outcome, sentence, crash, place): what ended the run, in the order in which the reasons exclude each other."""
    stage = STAGES.get(records.one("stage").get("name", ""), "")
    for reason in (_tampered(run, records, damage, lines), _stopped(run, stage), _ended_itself(records, stage, lines)):
        if reason is not None:
            return reason
    if not records.all("end"):
        return (*_without_end(run, stage), None, None)
    return _finished(records)


def _tampered(run: RunRecord, records: Records, damage: str | None, lines: list[str]) -> Ending | None:
    if records.all("disturbed"):
        return Outcome.TAMPERED, f"the observation was disturbed: {records.one('disturbed')['what']}", None, None
    if records.all("reaching"):
        reach = records.all("reaching")[0]
        return Outcome.TAMPERED, f"it reached into the grader's process ({reach['what']})", None, _line(reach["line"], "", lines)
    if damage is not None and run.why == "exit":
        return Outcome.TAMPERED, f"the evidence was tampered with: {damage}", None, None
    return None


def _stopped(run: RunRecord, stage: str) -> Ending | None:
    endings = {
        "timeout": (Outcome.TIMEOUT, f"it was still running after {run.seconds:.0f} s ({stage}) and was stopped"),
        "memory": (Outcome.OUT_OF_MEMORY, f"it used more than the memory allowed ({run.peak_mb:.0f} MB, {stage}) and was stopped"),
        "disk": (Outcome.DISK_FULL, f"it filled its run directory beyond what is allowed ({stage}) and was stopped"),
        "evidence": (Outcome.TAMPERED, "it flooded the evidence stream and was stopped"),
        "killed": (Outcome.KILLED, "the run was interrupted"),
    }
    return (*endings[run.why], None, None) if run.why in endings else None


def _ended_itself(records: Records, stage: str, lines: list[str]) -> Ending | None:
    """An exception, a broken contract or sys.exit, as the child wrote it down."""
    if records.all("crash"):
        record = records.one("crash")
        crash = crash_from(record, lines)
        where = crash.places[-1] if crash.places else None
        text = f"{crash.type} {STAGES.get(crash.during, 'in main')}"
        if record.get("memory"):
            return Outcome.OUT_OF_MEMORY, f"it asked for more memory than it may use: {text}", crash, where
        if record.get("disk"):
            return Outcome.DISK_FULL, f"it could not write any more: {text}", crash, where
        return Outcome.RAISED, text, crash, where
    if records.all("contract"):
        broken = records.one("contract")
        where = _line(broken["line"], "main", lines) if broken.get("line") else None
        return Outcome.BROKEN_CONTRACT, f"{broken['what']}; expected {broken['expected']}", None, where
    if records.all("exited"):
        return Outcome.EXITED, f"the submission ended the process itself with sys.exit({records.one('exited')['code']}) {stage}", None, None
    return None


def _line(number: int, function: str, lines: list[str]) -> Place:
    return Place(number, function, lines[number - 1].strip() if 0 < number <= len(lines) else "")


def _without_end(run: RunRecord, stage: str) -> tuple[Outcome, str]:
    if run.code is not None and run.code < 0:
        try:
            name = signal.Signals(-run.code).name
        except ValueError:
            name = f"signal {-run.code}"
        return Outcome.KILLED, f"the process was ended by {name} {stage}"
    return Outcome.EXITED, f"the process ended {stage} with exit code {run.code} and without a result (os._exit?)"


def _finished(records: Records) -> Ending:
    """The stream is whole: it must also be complete, one of each, nothing after the end."""
    single = ("hello", "end", "returned", "writers", "data", "parameters")
    odd = [kind for kind in single if len(records.all(kind)) > 1]
    if odd or records.items[-1].get("k") != "end":
        return Outcome.TAMPERED, f"the evidence contradicts itself ({', '.join(odd) or 'something follows its end'})", None, None
    if not records.all("returned") or not records.all("hello"):
        return Outcome.TAMPERED, "the evidence is incomplete", None, None
    return Outcome.FINISHED, "main returned a model", None, None
