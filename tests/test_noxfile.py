"""The lower bounds that `nox -s lowest` tests are those that pyproject.toml declares."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def test_every_dependency_is_pinned_to_its_lower_bound(monkeypatch):
    pytest.importorskip("nox", reason="nox is a development tool: pip install -e '.[dev]'")
    monkeypatch.chdir(ROOT)
    spec = importlib.util.spec_from_file_location("course_noxfile", ROOT / "noxfile.py")
    noxfile = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(noxfile)
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    block = re.search(r"^dependencies = \[(.*?)^\]", text, re.DOTALL | re.MULTILINE)[1]
    pins = [pin.partition(";")[0].split("==") for pin in noxfile.lower_bounds()]
    assert re.findall(r'"([\w.-]+)>=([\w.]+)[^"]*"', block) == [tuple(pin) for pin in pins]
