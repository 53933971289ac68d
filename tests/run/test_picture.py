"""The autograd graph of a graded model: drawn where Graphviz exists, kept as text with a clear line where it does not."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from grader.run.picture import draw
from tests.run.sources import HEAD, MAIN


def test_a_kept_run_has_its_autograd_graph(grade, tmp_path: Path) -> None:
    grade(HEAD + MAIN, keep=tmp_path / "kept")
    text = (tmp_path / "kept" / "main" / "autograd.gv").read_text(encoding="utf-8")
    assert "digraph" in text
    assert "1.weight" in text
    assert (shutil.which("dot") is not None) == (tmp_path / "kept" / "main" / "autograd.svg").exists()


def test_without_graphviz_a_line_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    note = draw("digraph {}", tmp_path)
    assert note is not None
    assert "apt install graphviz" in note
    assert (tmp_path / "autograd.gv").exists()
