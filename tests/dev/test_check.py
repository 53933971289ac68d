"""Every refusal of `dev check` is made to happen once, and names its remedy."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.judge.verdict import Broken, Failed, Passed, Skipped


def refused(report, where, *words):
    """The one finding of a report, at `where`, whose text holds all the words."""
    assert [where] == [found.where for found in report.findings], report.findings
    finding = report.findings[0]
    assert finding.remedy
    for word in words:
        assert word in str(finding)
    return finding


def test_a_course_that_keeps_its_promises_is_accepted(toy):
    report = toy.check()
    assert [] == report.findings
    assert report.ok
    assert 13 == len(toy.graded)
    assert "All promises kept." in toy.printed
    assert "13/13" in toy.printed


def test_quick_grades_no_cases(toy):
    assert toy.check(quick=True).ok
    assert {"exercises/lesson01/train.py", "solutions/lesson01/train.py"} == {where for where, _ in toy.graded}


def test_an_exercise_that_passes(toy, verdict):
    toy.answers["exercises/lesson01/train.py"] = verdict()
    refused(toy.check(), "exercises/lesson01/train.py", "already passes", "plant the fault")


def test_an_exercise_that_does_not_fail_one_of_its_breaks(toy, verdict):
    toy.answers["exercises/lesson01/train.py"] = verdict(finishes=Failed("no", "yes"), accuracy=Skipped("it stopped"))
    report = toy.check()
    problems = [str(found) for found in report.findings]
    assert 2 == len(problems)
    assert "does not fail accuracy" in problems[0]
    assert "skipped: it stopped" in problems[0]
    assert "take the id out of `breaks`" in problems[0]


def test_an_exercise_that_fails_another_check_too(toy, verdict):
    toy.answers["exercises/lesson01/train.py"] = verdict(finishes=Failed("no", "yes"), accuracy=Failed("0.1", "0.8"))
    refused(toy.check(), "exercises/lesson01/train.py", "also fails finishes", "saw no; expected yes", "second fault")


@pytest.mark.parametrize("where", ["solutions/lesson01/train.py", "tests/cases/lesson01/right_3.py"])
def test_a_right_submission_that_does_not_pass(toy, verdict, where):
    toy.answers[where] = verdict(accuracy=Failed("0.7", "0.8"))
    refused(toy.check(), where, "does not pass", "accuracy fails first", "saw 0.7", "loosen the check")


def test_a_right_submission_that_only_skips(toy, verdict):
    toy.answers["solutions/lesson01/train.py"] = verdict(accuracy=Skipped("no model"))
    refused(toy.check(), "solutions/lesson01/train.py", "does not pass", "no check fails")


def test_a_remark_that_nobody_declared(toy, verdict):
    toy.answers["tests/cases/lesson01/right_1.py"] = verdict(accuracy=Passed("0.9", "odd"))
    refused(toy.check(), "tests/cases/lesson01/right_1.py", "remark of accuracy that nobody declared: odd", "# right, remark: accuracy")
    toy.answers = {"solutions/lesson01/train.py": verdict(accuracy=Passed("0.9", "odd"))}
    refused(toy.check(), "solutions/lesson01/train.py", "without an oddity")


def test_a_declared_remark(toy, verdict):
    toy.edit("tests/cases/lesson01/right_1.py", "# right\n", "# right, remark: accuracy\n")
    refused(toy.check(), "tests/cases/lesson01/right_1.py", "without the remark of accuracy", "plain `# right`")
    toy.answers["tests/cases/lesson01/right_1.py"] = verdict(accuracy=Passed("0.9", "odd"))
    assert toy.check().ok


def test_a_wrong_case_that_passes(toy, verdict):
    toy.answers["tests/cases/lesson01/wrong_2.py"] = verdict()
    refused(toy.check(), "tests/cases/lesson01/wrong_2.py", "passes", "make finishes see")


def test_a_wrong_case_that_fails_for_another_reason(toy, verdict):
    toy.answers["tests/cases/lesson01/wrong_2.py"] = verdict(accuracy=Failed("0.1", "0.8"))
    refused(toy.check(), "tests/cases/lesson01/wrong_2.py", "another reason than finishes", "accuracy fails first (saw 0.1; expected 0.8)")
    toy.edit("tests/cases/lesson01/wrong_2.py", "# wrong: finishes", "# wrong: finishes or accuracy")
    assert toy.check().ok


def test_a_wrong_case_in_which_no_check_fails(toy, verdict):
    toy.answers["tests/cases/lesson01/wrong_2.py"] = verdict(finishes=Skipped("x"))
    refused(toy.check(), "tests/cases/lesson01/wrong_2.py", "ends as 'failed' and no check fails")


def test_a_check_that_breaks(toy, verdict):
    toy.answers["solutions/lesson01/train.py"] = verdict(accuracy=Broken("KeyError: 'x' (checks.py:3)"))
    refused(toy.check(), "solutions/lesson01/train.py", "the check accuracy broke: KeyError", "lessons/lesson01/checks.py")


def test_a_failure_of_the_grader_itself_stops_nothing(toy):
    toy.answers["tests/cases/lesson01/right_0.py"] = RuntimeError("no disk")
    refused(toy.check(), "tests/cases/lesson01/right_0.py", "could not be graded: RuntimeError: no disk", "own fault")
    assert 13 == len(toy.graded)


@pytest.mark.parametrize(
    ("where", "word"),
    [
        ("lessons/__init__.py", "does not belong"),
        ("lessons/lesson01/README.md~", "does not belong"),
        ("lessons/lesson01/notes/plan.md", "does not belong"),
        ("lessons/lesson01/curve.png", "no text of the lesson shows"),
        ("exercises/lesson01/train_old.py", "does not belong"),
        ("exercises/lesson07/train.py", "there is no lessons/lesson07"),
        ("solutions/lesson01/.train.py.swp", "does not belong"),
        ("tests/cases/lesson01/Right_9.py", "not named like a case"),
        ("tests/cases/lesson01/helper.py", "not named like a case"),
        ("tests/cases/readme.txt", "does not belong"),
    ],
)
def test_a_stray_file(toy, where, word):
    toy.write(where, "x")
    finding = toy.check().findings[0]
    assert where.startswith(finding.where)
    assert word in finding.problem
    assert "remove" in finding.remedy


def test_python_caches_and_shown_pictures_are_no_strays(toy):
    toy.write("exercises/lesson01/__pycache__/train.cpython-311.pyc", "x")
    toy.write("lessons/lesson01/curve.png", "x")
    toy.edit("lessons/lesson01/README.md", "## The idea", "## The idea\n![the curve](curve.png)")
    assert toy.check().ok


def test_a_lesson_without_its_story(toy):
    toy.remove("lessons/lesson01/README.md")
    refused(toy.check(), "lessons/lesson01/README.md", "no such file", "the story")


@pytest.mark.parametrize("where", ["exercises/lesson01/train.py", "solutions/lesson01/train.py", "solutions/lesson01/README.md"])
def test_a_lesson_without_one_of_its_files(toy, where):
    toy.remove(where)
    refused(toy.check(), where, "no such file", "write it")


def test_an_empty_file(toy):
    toy.write("solutions/lesson01/README.md", "\n")
    refused(toy.check(), "solutions/lesson01/README.md", "is empty", "write it")


def test_an_empty_hint(toy):
    toy.edit("lessons/lesson01/lesson.toml", '"Print it where it is made."', '" "')
    refused(toy.check(), "lessons/lesson01/lesson.toml", "'hints' has an empty item 2", "write it")


def test_checks_that_cannot_be_loaded(toy):
    toy.write("lessons/lesson01/checks.py", "CHECKS = oops\n")
    refused(toy.check(), "lessons/lesson01/checks.py:1", "NameError", "mend that line")


def test_breaks_that_no_check_has(toy):
    toy.edit("lessons/lesson01/lesson.toml", 'breaks = ["accuracy"]', 'breaks = ["accurancy"]')
    refused(toy.check(), "lessons/lesson01/lesson.toml", "accurancy", "use one of: finishes, accuracy")


@pytest.mark.parametrize(("kind", "number", "least"), [("right", 4, 5), ("wrong", 5, 6)])
def test_too_few_cases(toy, kind, number, least):
    toy.remove(f"tests/cases/lesson01/{kind}_{number}.py")
    refused(toy.check(), "tests/cases/lesson01", f"has {number} {kind} cases", f"at least {least}")


def test_no_cases_at_all(toy):
    for path in toy.path("tests/cases/lesson01").iterdir():
        path.unlink()
    assert ["has 0 right cases", "has 0 wrong cases"] == [found.problem for found in toy.check().findings]


def test_a_case_that_is_there_twice(toy):
    toy.write("tests/cases/lesson01/right_7.py", "# right\n# Another sentence for the same thing.\nprint(2)\n")
    refused(toy.check(), "tests/cases/lesson01/right_7.py", "same submission as right_2.py", "remove one")


@pytest.mark.parametrize(
    ("header", "word"),
    [
        ("# wrong: finishes\n# It says a thing that is right.\n", "write `# right`"),
        ("# Right\n# It says a thing that is right.\n", "write `# right`"),
        ("# right, remark: beauty\n# It says a thing that is right.\n", "no check of this lesson"),
        ("# right\n# Hm.\n", "second line is no sentence"),
        ("# right\nprint(1)\n", "second line is no sentence"),
        ("", "its first line is ''"),
    ],
)
def test_a_case_whose_header_says_nothing(toy, header, word):
    toy.write("tests/cases/lesson01/right_2.py", header)
    refused(toy.check(), "tests/cases/lesson01/right_2.py", word)


def test_a_case_that_is_not_utf8(toy):
    toy.path("tests/cases/lesson01/right_2.py").write_bytes(b"# right\n# \xff\xfe is no letter of any alphabet\n")
    refused(toy.check(), "tests/cases/lesson01/right_2.py", "not UTF-8", "save it")


def test_a_solution_that_changes_more_than_declared(toy):
    toy.edit("solutions/lesson01/train.py", "print(number)", "print(number, 'and more')")
    refused(toy.check(), "solutions/lesson01/train.py", "by 4 lines", "allows 2", "smaller")


def test_a_solution_that_is_the_exercise(toy):
    toy.write("solutions/lesson01/train.py", toy.path("exercises/lesson01/train.py").read_text(encoding="utf-8"))
    refused(toy.check(), "solutions/lesson01/train.py", "is the exercise itself")


@pytest.mark.parametrize("where", ["exercises/lesson01/train.py", "solutions/lesson01/train.py"])
def test_a_script_that_is_too_long(toy, where):
    for file in {"exercises/lesson01/train.py", "solutions/lesson01/train.py"} if "exercises" in where else {where}:
        toy.write(file, toy.path(file).read_text(encoding="utf-8") + "print()\n" * 116)
    toy.edit("lessons/lesson01/lesson.toml", "diff_lines = 2", "diff_lines = 200")
    assert {(where, "has 120 lines")} <= {(found.where, found.problem) for found in toy.check().findings}


def long_fix(toy):
    toy.edit("exercises/lesson01/train.py", "number = 1  # the number", "the_number = 1  # the number")
    toy.edit("solutions/lesson01/train.py", "number = 2  # the larger number", "the_number = 2  # the larger number")


@pytest.mark.parametrize("where", ["lessons/lesson01/README.md", "lessons/lesson01/walkthrough.md"])
def test_a_text_that_gives_the_fix_away(toy, where):
    long_fix(toy)
    assert toy.check().ok
    toy.write(where, toy.path(where).read_text(encoding="utf-8") + "\nWrite `the_number   = 2` there.\n")
    refused(toy.check(), where, "the_number = 2", "not what to write instead")


def test_a_hint_that_gives_the_fix_away(toy):
    long_fix(toy)
    toy.edit("lessons/lesson01/lesson.toml", "The number in main is too small.", "Write the_number = 2.")
    refused(toy.check(), "lessons/lesson01/lesson.toml", "gives the fix away")


def test_a_line_that_the_exercise_has_elsewhere_gives_nothing_away(toy):
    long_fix(toy)
    toy.edit("exercises/lesson01/train.py", "print(number)", "print(number)\nthe_number = 2")
    toy.edit("solutions/lesson01/train.py", "print(number)", "print(number)\nthe_number = 2")
    toy.edit("lessons/lesson01/README.md", "## The idea", "## The idea\nthe_number = 2")
    assert toy.check().ok


@pytest.mark.parametrize("section", ["What you see", "How to investigate", "The idea", "Your task", "Tools used here", "Next step"])
def test_a_story_without_a_section(toy, section):
    toy.edit("lessons/lesson01/README.md", f"## {section}", "## Something else")
    refused(toy.check(), "lessons/lesson01/README.md", f"no section '{section}'", "add the heading")


def test_a_story_without_real_output(toy):
    toy.edit("lessons/lesson01/README.md", "```console", "```text")
    refused(toy.check(), "lessons/lesson01/README.md", "shows no real output", "```console")


def test_a_walkthrough_that_is_too_short(toy):
    toy.edit("lessons/lesson01/walkthrough.md", "(Pdb) p 1\n1\n(Pdb) p 1\n", "(Pdb) p 1\n")
    finding = refused(toy.check(), "lessons/lesson01/walkthrough.md", "pdb commands", "8 to 20")
    assert "has 4 pdb commands" == finding.problem


def test_a_block_that_cannot_be_replayed(toy):
    toy.edit("lessons/lesson01/walkthrough.md", "$ python -m pdb", "python -m pdb")
    refused(toy.check(), "lessons/lesson01/walkthrough.md", "cannot be replayed", "grader.dev.replay")


def test_text_that_the_scaffold_left(toy):
    toy.edit("lessons/lesson01/README.md", "## The idea", "## The idea\n\nWRITE: the formula")
    refused(toy.check(), "lessons/lesson01/README.md:13", "asks to be written", "WRITE:")


def test_a_stale_table_of_lessons(toy):
    toy.edit("lessons/lesson01/lesson.toml", "The toy", "The other toy")
    refused(toy.check(), "README.md", "table of lessons", "--fix")
    assert toy.check(fix=True).ok
    assert toy.check().ok
    text = toy.path("README.md").read_text(encoding="utf-8")
    assert "| 01 | [The other toy](lessons/lesson01/README.md) | the number \\| is too small | print | 20 |" in text
    assert text.endswith("<!-- lessons:end -->\n\nThe end.\n")


def test_a_readme_without_a_place_for_the_table(toy):
    toy.write("README.md", "# Course\n")
    refused(toy.check(fix=True), "README.md", "no place for the table", "<!-- lessons:begin -->")


def test_one_lesson_of_several_is_checked_alone(toy):
    toy.write("lessons/lesson02/README.md", "")
    toy.write("exercises/lesson09/train.py", "print()\n")
    assert toy.check("lesson01").ok
    assert not toy.check().ok


def test_in_a_pipe_each_grading_is_one_plain_line(toy, tmp_path: Path):
    toy.check()
    lines = [line for line in toy.printed.splitlines() if line.startswith(("1/13", "13/13"))]
    assert 2 == len(lines)
    assert "\x1b" not in toy.printed
