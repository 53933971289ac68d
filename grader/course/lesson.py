"""One lesson's metadata, as lessons/lessonNN/lesson.toml declares it."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from grader.course.errors import CourseError
from grader.course.table import Table

if TYPE_CHECKING:
    from pathlib import Path

NAME = re.compile(r"lesson([0-9]{2})")
"""How a lesson's folder is called."""

OFFERS = {"predict": "predict(model, image) -> int", "loss": "loss(logits, targets) -> torch.Tensor"}
"""The further names that a lesson may ask of train.py, with their signatures."""
RECORDS = ("samples",)
"""What a lesson may have recorded beyond what every run records: 'samples', what enters the model, row by row."""

_LEGS = (("main",), ("gpu", "cpu"), ("cpu", "gpu"))
_IMAGES = ("digit", "any")
_CHECK_ID = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")


@dataclass(frozen=True)
class Budget:
    """What one run may use: passes over the training set, seconds on the wall clock (generous), megabytes of memory."""

    epochs: int
    seconds: float
    memory_mb: int


@dataclass(frozen=True)
class Contract:
    """Where a lesson's train.py differs from the contract that all lessons share.

    offers: further names it must offer, of OFFERS.  image: 'digit' if eval_transform returns (1, 28, 28), 'any' if (C, H, W) of any size will do.
    positive: the digit that a binary head looks for (the model returns (N,) or (N, 1) scores), None for ten scores an image.
    """

    offers: tuple[str, ...] = ()
    image: str = "digit"
    positive: int | None = None


@dataclass(frozen=True)
class Lesson:
    """One lesson: its metadata, and where its files are (whether they exist is another matter).

    root: the course's folder.  breaks: ids of exactly those checks that the untouched exercise fails.  diff_lines: how many lines, added and
    removed, the solution may differ from the exercise.  minutes: how long a learner takes.  hints: a question; the instrument and where to hold
    it; the place and the property that is wrong there.  fault: for authors' eyes only.
    """

    root: Path
    number: int
    title: str
    symptom: str
    part: int
    fault: str
    concept: str
    tool: str
    tools: tuple[str, ...]
    minutes: int
    knows: tuple[str, ...]
    breaks: tuple[str, ...]
    diff_lines: int
    legs: tuple[str, ...]
    hints: tuple[str, str, str]
    budget: Budget
    contract: Contract = Contract()
    records: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Its folder's name, for example 'lesson03'."""
        return f"lesson{self.number:02d}"

    @property
    def folder(self) -> Path:
        """Where its text and checks are: lessons/lessonNN."""
        return self.root / "lessons" / self.name

    @property
    def story(self) -> Path:
        """What the learner reads first: lessons/lessonNN/README.md."""
        return self.folder / "README.md"

    @property
    def walkthrough(self) -> Path:
        """Its pdb session: lessons/lessonNN/walkthrough.md."""
        return self.folder / "walkthrough.md"

    @property
    def checks(self) -> Path:
        """Its definition of fixed: lessons/lessonNN/checks.py."""
        return self.folder / "checks.py"

    @property
    def exercise(self) -> Path:
        """The one file that a learner edits: exercises/lessonNN/train.py."""
        return self.root / "exercises" / self.name / "train.py"

    @property
    def solution(self) -> Path:
        """The smallest good fix: solutions/lessonNN/train.py."""
        return self.root / "solutions" / self.name / "train.py"

    @property
    def explanation(self) -> Path:
        """What the learner reads after a pass: solutions/lessonNN/README.md."""
        return self.root / "solutions" / self.name / "README.md"

    @property
    def cases(self) -> Path:
        """Its case law, right and wrong submissions: tests/cases/lessonNN."""
        return self.root / "tests" / "cases" / self.name


def load_lesson(root: Path, name: str) -> Lesson:
    """Read and validate lessons/<name>/lesson.toml of the course at root.

    Raises CourseError for a file that cannot be read, and for a key that is missing, unknown or of the wrong type.
    """
    file = f"lessons/{name}/lesson.toml"
    table = Table(_read(root / file, file), file)
    number = NAME.fullmatch(name)
    if number is None:
        raise CourseError(f"lessons/{name}: not a lesson's name; call the folder lesson and two digits, for example lesson03.")
    one, two, three = table.texts("hints", 3, 3)
    lesson = Lesson(
        root=root,
        number=int(number[1]),
        title=table.text("title"),
        symptom=table.text("symptom"),
        part=table.whole("part", 1, 99),
        fault=table.text("fault"),
        concept=table.text("concept"),
        tool=table.text("tool"),
        tools=table.texts("tools"),
        minutes=table.whole("minutes", 15, 40),
        knows=table.texts("knows"),
        breaks=_breaks(table),
        diff_lines=table.whole("diff_lines", 1, 200),
        legs=_legs(table),
        hints=(one, two, three),
        budget=_budget(table.table("budget")),
        contract=_contract(table),
        records=_known(table, "records", RECORDS),
    )
    table.finish()
    return lesson


def _read(path: Path, file: str) -> dict[str, object]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))  # Notepad writes a byte-order mark
    except FileNotFoundError:
        msg = f"{file}: there is no such file; write it (python -m grader dev new shows one) or remove its folder."
    except OSError as error:
        msg = f"{file}: cannot be read ({error.strerror}); make it readable."
    except UnicodeDecodeError as error:
        msg = f"{file}: byte {error.start} is not UTF-8; save the file as UTF-8."
    except tomllib.TOMLDecodeError as error:
        msg = f"{file}: not valid TOML: {error}; mend that line."
    raise CourseError(msg)


def _breaks(table: Table) -> tuple[str, ...]:
    breaks = table.texts("breaks", 1)
    for item in breaks:
        if not _CHECK_ID.fullmatch(item):
            raise table.refuse("breaks", f"has {item!r}, which is no check id", "write ids such as 'output_shape', from checks.py")
    return breaks


def _legs(table: Table) -> tuple[str, ...]:
    legs = table.texts("legs", 1)
    if legs not in _LEGS:
        raise table.refuse("legs", f"is {list(legs)}", 'write ["main"], or ["gpu", "cpu"] for a lesson that is judged on both devices')
    return legs


def _known(table: Table, key: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """An optional array of names of a fixed list."""
    found = table.texts(key) if table.has(key) else ()
    for item in found:
        if item not in names:
            raise table.refuse(key, f"has {item!r}", f"write names of this list: {', '.join(names)}")
    return found


def _contract(top: Table) -> Contract:
    if not top.has("contract"):
        return Contract()
    table = top.table("contract")
    image = table.text("image") if table.has("image") else "digit"
    if image not in _IMAGES:
        raise table.refuse("image", f"is {image!r}", f"write one of: {', '.join(_IMAGES)}")
    contract = Contract(_known(table, "offers", tuple(OFFERS)), image, table.whole("positive", 0, 9) if table.has("positive") else None)
    table.finish()
    return contract


def _budget(table: Table) -> Budget:
    budget = Budget(epochs=table.whole("epochs", 1, 1000), seconds=table.positive("seconds"), memory_mb=table.whole("memory_mb", 64, 1_000_000))
    table.finish()
    return budget
