from __future__ import annotations

import json
import math
import os
import stat

import pytest

from grader.evidence.records import Crash, Outcome
from grader.report.as_json import to_data, to_text, write_json


def test_every_kind_of_answer(made, snapshot):
    stopped = made.leg(Outcome.RAISED, crash=made.CRASH, trace=made.TRACE, output_tail="loss nan\n")
    shown = made.verdict(made.REMARKED, made.FAILED, made.SKIPPED, made.BROKEN, legs=(stopped,))

    assert to_text(to_data(shown)) == snapshot


def test_every_key_is_there_for_every_result(made):
    results = to_data(made.verdict(made.PASSED, made.FAILED_TOO, made.SKIPPED, made.BROKEN))["results"]

    assert len({frozenset(result) for result in results}) == 1
    assert [result["answer"] for result in results] == ["passed", "failed", "skipped", "broken"]


@pytest.mark.parametrize("outcome", list(Outcome), ids=lambda outcome: outcome.name.lower())
def test_status(made, outcome):
    data = to_data(made.verdict(made.PASSED, legs=(made.leg(outcome),)))

    assert data["status"] == ("passed" if outcome is Outcome.FINISHED else outcome.value)
    assert data["passed"] is (outcome is Outcome.FINISHED)
    assert data["legs"][0]["outcome"] == outcome.value


def test_the_next_step_is_the_one_on_the_terminal(made):
    shown = made.verdict(made.PASSED)

    assert made.show(shown, "lesson04", width=400).splitlines()[-1] == f"Next: {to_data(shown, 'lesson04')['next_step']}"


@pytest.mark.parametrize(("seconds", "written"), [(math.nan, "NaN"), (math.inf, "Infinity"), (-math.inf, "-Infinity"), (1.5, 1.5)])
def test_numbers_without_a_json_word(made, seconds, written):
    text = to_text(to_data(made.verdict(legs=(made.leg(seconds=seconds),))))

    def refuse(word):
        raise AssertionError(word)

    assert json.loads(text, parse_constant=refuse)["legs"][0]["seconds"] == written


def test_text_that_is_no_unicode(made):
    text = to_text(to_data(made.verdict(legs=(made.leg(crash=Crash("E", "a \udc80 b \x1b[2J")),), submission="\udcff.py")))
    data = json.loads(text)

    assert (data["submission"], data["legs"][0]["crash"]["message"]) == ("\ufffd.py", "a \ufffd b \x1b[2J")
    assert text.isascii()


def test_written_whole_and_readable(tmp_path):
    file = tmp_path / "verdict.json"
    file.write_text("older and much longer than what follows", encoding="utf-8")
    write_json({"a": 1}, file)

    assert json.loads(file.read_text(encoding="utf-8")) == {"a": 1}
    assert list(tmp_path.iterdir()) == [file]
    assert stat.S_IMODE(file.stat().st_mode) == 0o644 or os.name == "nt"


def test_a_failure_leaves_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "verdict.json"
    write_json({"a": 1}, file)
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json({"a": math.nan}, file)

    assert json.loads(file.read_text(encoding="utf-8")) == {"a": 1}
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.skipif(not hasattr(os, "symlink") or os.name == "nt", reason="needs symbolic links without special rights")
def test_a_link_stays_a_link(tmp_path):
    file, link = tmp_path / "real.json", tmp_path / "link.json"
    file.write_text("{}", encoding="utf-8")
    link.symlink_to(file)
    write_json([], link)

    assert link.is_symlink()
    assert file.read_text(encoding="utf-8") == "[]\n"


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs /dev/null")  # noqa: PTH110
def test_a_device_is_written_to_and_not_replaced():
    from pathlib import Path

    write_json([], Path("/dev/null"))

    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
