"""The lessons' texts are true: every documented command and every pdb session is run again, and says what the page says."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.dev.replay import replay

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted((ROOT / "lessons").glob("*/*.md"))


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_a_page_is_as_documented(page):
    mismatches = replay(page, ROOT)
    remedy = f"\n\nif that is right now: python -m grader.dev.replay --write {page}"
    assert not mismatches, "\n\n".join(str(mismatch) for mismatch in mismatches) + remedy


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_the_test_command_is_the_one_that_ci_runs(page):
    assert 'pip install -e ".[test]"' in (ROOT / page).read_text(encoding="utf-8")
    assert 'pip install --quiet -e ".[test]"' in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
