from __future__ import annotations

import sys
from types import ModuleType

import pytest


@pytest.fixture
def downloads(toy, monkeypatch):
    asked = []
    module = ModuleType("grader.data.download")
    module.download_full = lambda folder: asked.append(folder) or module.code
    module.code = 0
    module.asked = asked
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_into_the_course(toy, call, downloads):
    shown = call("data")

    assert shown.code == 0
    assert downloads.asked == [toy.root / "datasets" / "full"]
    assert shown.out == f'Grade with it: python -m grader lesson01 --data "{toy.root / "datasets" / "full"}"\n'


def test_into_another_folder_no_course_is_needed(call, downloads, tmp_path, monkeypatch):
    monkeypatch.setenv("PYTORCH_COURSE", str(tmp_path / "nowhere"))
    shown = call("data", tmp_path / "mnist")

    assert shown.code == 0
    assert downloads.asked == [tmp_path / "mnist"]


def test_without_a_network(call, downloads):
    downloads.code = 1

    assert (call("data").code, call("data").out) == (1, "")
