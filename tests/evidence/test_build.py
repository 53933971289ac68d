"""Forged, half-written and contradictory evidence never becomes a finished run."""

from pathlib import Path
from typing import Any

import pytest

from grader.evidence.build import RunRecord, build
from grader.evidence.codec import encode
from grader.evidence.records import Outcome
from grader.evidence.view import Evidence, MissingEvidence

KEY = b"secret"
SOURCE = "def main():\n    boom()\n"
HELLO = {"k": "hello", "device": "cpu", "simulated": False}
RELATION = {"roots": {"0": {"how": "same", "names": {"w": "w"}}}, "modules": {}, "moved": {}}
RETURNED = {"k": "returned", "type": "Net", "devices": ["cpu"], "relation": RELATION}
STEP = {"k": "step", "i": 0, "roots": [0], "loss": 2.3, "rows": 4, "lr": 0.1, "grads": {"0:w": None, "0:b": 0.0}, "changed": True, "update": 0.1, "revisits": None, "finite": True, "pdev": "cpu", "idev": "cpu", "jump": None, "dropped": 0, "called": None, "backed": {"line": 2, "function": "main"}}  # fmt: skip
WHOLE: list[dict[str, Any]] = [HELLO, {"k": "stage", "name": "main"}, STEP, RETURNED, {"k": "end"}]


def stream(records: list[dict[str, Any]], key: bytes = KEY) -> bytes:
    return b"".join(encode(record, number, key) for number, record in enumerate(records))


def made(data: bytes, folder: Path, why: str = "exit", code: int | None = 0) -> Evidence:
    return build(RunRecord("main", SOURCE, data, KEY, why, code, 1.0, b"", folder, {}, 10.0))


def test_a_whole_stream_is_a_finished_run(tmp_path: Path) -> None:
    evidence = made(stream(WHOLE), tmp_path)
    assert Outcome.FINISHED is evidence.outcome
    assert {"w": None} == evidence.steps[0].gradients


@pytest.mark.parametrize("length", range(1, len(WHOLE)))
def test_a_stream_that_stops_anywhere_is_not(tmp_path: Path, length: int) -> None:
    assert Outcome.EXITED is made(stream(WHOLE[:length]), tmp_path).outcome


@pytest.mark.parametrize(
    ("records", "tail"),
    [
        (WHOLE[:3], b'0123456789abcdef {"k":"end"}\n'),
        (WHOLE[:1], b"PASSED\n"),
        (WHOLE, b"x\n"),
        ([HELLO, HELLO, *WHOLE[1:]], b""),
        ([*WHOLE, STEP], b""),
        ([HELLO, {"k": "end"}], b""),
    ],
    ids=["forged end", "free text", "text after the end", "two hellos", "a step after the end", "no model"],
)
def test_forged_and_contradictory_streams_are_tampered(tmp_path: Path, records: list[dict[str, Any]], tail: bytes) -> None:
    assert Outcome.TAMPERED is made(stream(records) + tail, tmp_path).outcome


def test_another_key_is_tampered(tmp_path: Path) -> None:
    assert Outcome.TAMPERED is made(stream(WHOLE, b"guessed"), tmp_path).outcome


def test_a_line_left_out_is_tampered(tmp_path: Path) -> None:
    lines = stream(WHOLE).split(b"\n")
    assert Outcome.TAMPERED is made(b"\n".join(lines[:2] + lines[3:]), tmp_path).outcome


@pytest.mark.parametrize(
    ("why", "code", "outcome"),
    [
        ("timeout", -9, Outcome.TIMEOUT),
        ("memory", -9, Outcome.OUT_OF_MEMORY),
        ("disk", -9, Outcome.DISK_FULL),
        ("evidence", -9, Outcome.TAMPERED),
        ("exit", -11, Outcome.KILLED),
        ("exit", 0, Outcome.EXITED),
        ("exit", 3, Outcome.EXITED),
    ],
)
def test_every_other_ending_has_one_outcome(tmp_path: Path, why: str, code: int, outcome: Outcome) -> None:
    evidence = made(stream(WHOLE[:3]), tmp_path, why, code)
    assert outcome is evidence.outcome
    assert evidence.sentence
    with pytest.raises(MissingEvidence):
        _ = evidence.steps


def test_a_run_that_was_stopped_after_its_last_line_still_counts_as_stopped(tmp_path: Path) -> None:
    assert Outcome.TIMEOUT is made(stream(WHOLE), tmp_path, "timeout", -9).outcome


def test_a_crash_is_located(tmp_path: Path) -> None:
    crash = {"k": "crash", "type": "NameError", "message": "name 'boom' is not defined", "notes": "", "during": "main", "places": [{"line": 2, "function": "main"}]}  # fmt: skip
    evidence = made(stream([HELLO, {"k": "stage", "name": "main"}, crash, {"k": "end"}]), tmp_path)
    assert Outcome.RAISED is evidence.outcome
    assert evidence.where is not None
    assert (2, "boom()") == (evidence.where.line, evidence.where.code)


def test_steps_of_another_model_do_not_count(tmp_path: Path) -> None:
    other = {**STEP, "roots": [5]}
    records = [HELLO, {"k": "stage", "name": "main"}, other, RETURNED, {"k": "end"}]
    with pytest.raises(MissingEvidence, match="no training step"):
        _ = made(stream(records), tmp_path).steps
