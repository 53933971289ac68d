from __future__ import annotations

import io

from rich.console import Console

from grader.evidence.records import Outcome
from grader.report.summary import render_summary


def table(*verdicts, width=80):
    stream = io.StringIO()
    render_summary(verdicts, Console(file=stream, width=width, color_system=None))
    return stream.getvalue()


def test_every_result(made, snapshot):
    shown = table(
        made.verdict(made.PASSED, made.REMARKED, lesson="lesson01"),
        made.verdict(made.PASSED, made.SKIPPED, made.FAILED, made.FAILED_TOO, lesson="lesson02"),
        made.verdict(
            made.SKIPPED, lesson="lesson03", legs=(made.leg(Outcome.TIMEOUT, sentence="it was stopped after 120 s, in the middle of epoch 1"),)
        ),
        made.verdict(made.BROKEN, lesson="lesson04"),
        made.verdict(made.SKIPPED, lesson="lesson05"),
    )

    assert shown == snapshot


def test_all_passed(made, snapshot):
    assert table(made.verdict(made.PASSED, lesson="lesson01"), made.verdict(made.PASSED, lesson="lesson02")) == snapshot
