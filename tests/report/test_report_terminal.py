from __future__ import annotations

import io
from dataclasses import replace

import pytest

from grader.evidence.records import Crash, Outcome, Place, ShapeCall
from grader.judge.verdict import Failed, Passed, Result, Skipped
from grader.report.sheet import make_console
from grader.report.terminal import render


def test_passed(made, snapshot):
    assert made.show(made.verdict(made.PASSED, made.REMARKED), following="lesson04") == snapshot


def test_passed_the_last_lesson(made, snapshot):
    assert made.show(made.verdict(made.PASSED)) == snapshot


def test_failed(made, snapshot):
    assert made.show(made.verdict(made.PASSED, made.FAILED, made.SKIPPED, made.FAILED_TOO)) == snapshot


def test_the_next_step_of_the_verdict_comes_before_that_of_a_check(made, snapshot):
    assert made.show(made.verdict(made.FAILED, next_step="read the message again")).splitlines()[-1] == snapshot


def test_without_a_next_step_the_first_hint_is_it(made, snapshot):
    assert made.show(made.verdict(made.FAILED_TOO, made.FAILED)).splitlines()[-1] == snapshot


def test_broken_looks_different(made, snapshot):
    assert made.show(made.verdict(made.PASSED, made.BROKEN, made.FAILED)) == snapshot


def test_only_skipped_is_no_pass(made, snapshot):
    assert made.show(made.verdict(made.SKIPPED)) == snapshot


def test_nothing_judged_is_no_pass(made, snapshot):
    assert made.show(made.verdict(legs=())) == snapshot


def test_two_legs(made, snapshot):
    legs = (made.leg(name="gpu", device="cuda", simulated=True), made.leg(name="cpu", seconds=3.9))
    gpu = Result("finishes_gpu", "main runs to its end and returns a model", "run", Passed("returned a Net"), "gpu")
    cpu = Result("accuracy_cpu", "Held-out accuracy", "accuracy", Failed("0.712", "at least 0.900"), "cpu")

    assert made.show(made.verdict(gpu, cpu, legs=legs)) == snapshot


@pytest.mark.parametrize("outcome", [outcome for outcome in Outcome if outcome is not Outcome.FINISHED], ids=lambda outcome: outcome.name.lower())
def test_every_way_to_stop(made, snapshot, outcome):
    stopped = made.leg(outcome, output_tail="epoch 1: loss 2.31\nepoch 2: loss 2.30\n")

    assert made.show(made.verdict(made.SKIPPED, legs=(stopped,))) == snapshot


def test_a_crash_with_shapes(made, snapshot):
    stopped = made.leg(Outcome.RAISED, sentence="a RuntimeError left main", crash=made.CRASH, trace=made.TRACE, output_tail="not shown")

    assert made.show(made.verdict(made.SKIPPED, legs=(stopped,), lesson="lesson01")) == snapshot


def test_a_crash_that_a_check_has_told_is_not_told_twice(made, snapshot):
    stopped = made.leg(Outcome.RAISED, sentence="a RuntimeError left main", crash=made.CRASH, trace=made.TRACE)
    failed = Result(
        "finishes", "main runs to its end and returns a model", "run", Failed(f"RuntimeError: {made.CRASH.message}", "a model", made.PLACE)
    )

    assert made.show(made.verdict(failed, made.SKIPPED, legs=(stopped,), lesson="lesson01")) == snapshot


def test_only_the_innermost_call_is_where_it_stopped(made, snapshot):
    trace = (ShapeCall("Net", "Net", ((64, 1, 28, 28),), None), *(replace(call, depth=1) for call in made.TRACE))

    assert made.show(made.verdict(legs=(made.leg(Outcome.RAISED, crash=made.CRASH, trace=trace),))) == snapshot


def test_neighbours_skipped_for_the_same_reason_share_it(made, snapshot):
    other = replace(made.SKIPPED, title="Held-out accuracy", answer=Skipped("another reason"))

    assert made.show(made.verdict(made.SKIPPED, made.SKIPPED, made.SKIPPED, other, made.PASSED, made.SKIPPED)) == snapshot


def test_a_crash_without_place_or_message(made, snapshot):
    stopped = made.leg(Outcome.RAISED, crash=Crash("KeyboardInterrupt", ""))

    assert made.show(made.verdict(made.FAILED_TOO, legs=(stopped,))) == snapshot


def test_one_leg_stopped(made, snapshot):
    legs = (made.leg(Outcome.RAISED, "gpu", device="cuda", simulated=True, crash=made.CRASH), made.leg(name="cpu"))

    assert made.show(made.verdict(made.SKIPPED, legs=legs)) == snapshot


def test_a_long_deep_trace_is_cut_at_its_beginning_and_fits(made, snapshot):
    many = tuple(
        ShapeCall(f"features.{n}.block", "BottleneckWithALongName", ((64, 128, 28, 28), (64, 128, 28, 28)), (64, 128, 28, 28), n % 7)
        for n in range(30)
    )
    last = (ShapeCall("add", "add", ((64, 10), (10,)), None, 1),)

    assert made.show(made.verdict(legs=(made.leg(Outcome.RAISED, crash=made.CRASH, trace=many + last),))) == snapshot


def test_at_40_columns(made, snapshot):
    stopped = made.leg(Outcome.RAISED, crash=made.CRASH, trace=made.TRACE)

    assert (
        made.show(
            made.verdict(made.FAILED, made.SKIPPED, legs=(stopped,), submission="C:/a/very/long/path/without/any/space/in/it/train.py"), width=40
        )
        == snapshot
    )


HOSTILE = (
    "\x1b[2J\x1b[1;32mPASSED\x1b[0m\nPASS  accuracy: 1.0\rPASS\x08 "
    "[bold green]PASS[/] :thumbs_up: \u202eSSAP\u200b \x9b31m \x1b]8;;http://x\x07link\x1b]8;;\x07 \udc80\x00"
)


def test_a_learner_cannot_draw_on_the_report(made, snapshot):
    """Neither escapes, markup, line ends nor direction marks leave their place: no line but ours begins with a mark."""
    place = Place(3, HOSTILE, HOSTILE)
    stopped = made.leg(Outcome.RAISED, crash=Crash(HOSTILE, HOSTILE, (place, place)), trace=(ShapeCall(HOSTILE, HOSTILE, ((1,),), None),))
    ended = made.leg(Outcome.EXITED, output_tail=HOSTILE)
    failed = Result("finishes", "main returns a model", "run", Failed(HOSTILE, HOSTILE, place, HOSTILE))
    text = made.show(made.verdict(failed, legs=(stopped, ended), submission=HOSTILE))

    assert [line for line in text.splitlines() if line.startswith("PASS")] == []
    assert not any(character in text for character in "\x00\x08\r\x9b\u202e\u200b\udc80")
    assert text == snapshot


@pytest.mark.parametrize("encoding", ["cp1252", "ascii"])
def test_a_narrow_encoding_gets_look_alikes(made, encoding):
    text = made.show(made.verdict(made.PASSED, title="ratio \u2265 \u03b7 \u00d7 10\u207b\u00b3 \u2192 \u65e5\u672c"), encoding=encoding)

    assert (
        text.splitlines()[0]
        == {
            "cp1252": "Lesson 03: ratio >= ? x 10?\u00b3 -> ??",
            "ascii": "Lesson 03: ratio >= ? x 10?? -> ??",
        }[encoding]
    )


def test_wide_characters_are_counted_as_two_columns(made, snapshot):
    failed = Result("x", "title", "run", Failed("\u6570\u636e" * 60, "e\u0301" * 5))

    assert made.show(made.verdict(failed)) == snapshot


@pytest.mark.parametrize(
    ("environment", "plain", "escapes"),
    [
        ({}, False, False),
        ({"FORCE_COLOR": "1", "TERM": "xterm"}, False, True),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False, False),
        ({"FORCE_COLOR": "1"}, True, False),
    ],
    ids=["pipe", "forced", "NO_COLOR", "plain"],
)
def test_colours(made, monkeypatch, environment, plain, escapes):
    for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    stream = io.StringIO()
    render(made.verdict(made.FAILED), make_console(stream, plain=plain))

    assert ("\x1b[" in stream.getvalue()) is escapes


@pytest.mark.parametrize(("columns", "width"), [(None, 80), ("", 80), ("120", 120), ("60", 60), ("7", 40), ("0", 80), ("wide", 80)])
def test_width_in_a_pipe(monkeypatch, columns, width):
    monkeypatch.delenv("COLUMNS", raising=False)
    if columns is not None:
        monkeypatch.setenv("COLUMNS", columns)

    assert make_console(io.StringIO()).width == width


def test_a_terminal_is_not_written_wider_than_can_be_read(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setenv("COLUMNS", "250")

    assert make_console(Terminal()).width == 100
