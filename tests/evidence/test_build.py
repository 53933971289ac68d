"""Forged, half-written and contradictory evidence never becomes a finished run."""

import base64
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.evidence.build import RunRecord, build
from grader.evidence.codec import encode
from grader.evidence.measure import confusions, measure, read_known
from grader.evidence.records import Outcome
from grader.evidence.view import Evidence, MissingEvidence

KNOWN = read_known(Path(__file__).resolve().parents[2] / "datasets")
KEY = b"secret"
SOURCE = "def main():\n    boom()\n"
HELLO = {"k": "hello", "device": "cpu", "simulated": False}
RELATION = {"roots": {"0": {"how": "same", "names": {"w": "w"}}}, "modules": {}, "moved": {}}
RETURNED = {"k": "returned", "type": "Net", "devices": ["cpu"], "relation": RELATION}
STEP = {"k": "step", "i": 0, "roots": [0], "loss": 2.3, "rows": 4, "lr": 0.1, "grads": {"0:w": None, "0:b": 0.0}, "changed": True, "update": 0.1, "revisits": None, "finite": True, "pdev": "cpu", "idev": "cpu", "jump": None, "dropped": 0, "stale": 0, "nodes": None, "called": None, "backed": {"line": 2, "function": "main"}}  # fmt: skip
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


def test_a_binary_head_is_judged_by_balanced_accuracy_of_logits_or_probabilities() -> None:
    labels = {"heldout": np.array([7, 7, 1, 2, 3, 4], dtype=np.uint8)}
    score = np.array([2.0, -1.0, -1.0, -1.0, -1.0, 3.0], dtype=np.float32)
    for z in (score, 1 / (1 + np.exp(-score))):
        scores = {"heldout": np.stack([np.zeros_like(z), z], axis=1)}
        assert pytest.approx((0.5 + 0.75) / 2) == measure(scores, labels, positive=7)[0]["heldout"]


def test_a_confusion_has_digits_as_rows_and_columns_as_answers() -> None:
    scores = np.eye(10, dtype=np.float32)[[1, 1, 2]]
    table = confusions({"heldout": scores}, {"heldout": np.array([1, 3, 2], dtype=np.uint8)})["heldout"]
    assert [(1, 1), (2, 2), (3, 1)] == [tuple(place) for place in np.argwhere(table).tolist()]


ROWS = {"k": "rows", "count": 2, "size": [1, 28, 28], "data": base64.b64encode(zlib.compress(KNOWN.images[[3, 12]].tobytes())).decode()}
CALL = {
    "k": "call",
    "step": 0,
    "root": 0,
    "train": True,
    "training": True,
    "modes": 0,
    "answers": None,
    "inner": False,
    "ids": base64.b64encode(np.array([1, 0, -1], "<i4").tobytes()).decode(),
}


def seen(folder: Path, **call: Any) -> Evidence:
    lines = [HELLO, STEP, ROWS, {"k": "modes", "on": ["drop"], "off": []}, CALL | call, RETURNED, {"k": "end"}]
    return build(RunRecord("main", SOURCE, stream(lines), KEY, "exit", 0, 1.0, b"", folder, {}, 10.0, known=KNOWN))


def test_rows_and_calls_become_what_was_seen(tmp_path: Path) -> None:
    found = seen(tmp_path).seen
    (call,) = found.calls
    assert ([1, 0, -1], [12, 3, -1]) == (call.ids.tolist(), call.images.tolist())
    assert (True, ("drop",), ()) == (call.train, call.on, call.off)
    assert not seen(tmp_path, root=5).seen.calls[0].train  # another model's training


def test_a_call_with_rows_that_were_never_recorded_makes_no_sense(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="never recorded"):
        seen(tmp_path, ids=base64.b64encode(np.array([7], "<i4").tobytes()).decode())


def test_nothing_was_seen_where_the_lesson_did_not_ask_for_it(tmp_path: Path) -> None:
    with pytest.raises(MissingEvidence, match="no images were seen"):
        _ = made(stream(WHOLE), tmp_path).seen
