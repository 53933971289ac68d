"""Did it run, where, and on how much data?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.evidence.records import Outcome
from grader.judge.check import check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from grader.evidence.view import Evidence

EPOCH_SHARE = 0.75
"""Least share of one pass over the training images.

An ordinary run measures 1.0; the rest leaves room for a validation split and dropped last batches, and none for a handful of steps.
"""

NEXT = {
    Outcome.RAISED: "Read the last line of the message first, then the line of your file it points to: which values meet there?",
    Outcome.TIMEOUT: "Find the loop that does not end: run the script under pdb, interrupt it with Ctrl-C and type w.",
    Outcome.OUT_OF_MEMORY: "Print the shapes of the tensors you make: which one is larger than you thought?",
    Outcome.DISK_FULL: "Look at what the script writes, how often and where.",
    Outcome.EXITED: "A train.py ends by returning the model from main: look for sys.exit, exit, quit or os._exit.",
    Outcome.KILLED: "Run the script by itself and see what ends it.",
    Outcome.REJECTED: "Correct that line first; python -m py_compile FILE says whether Python can read the file.",
    Outcome.BROKEN_CONTRACT: "Compare the names and the return value of your file with the contract in the README.",
    Outcome.TAMPERED: "Leave torch's hooks, hook tables and the grader's process alone: a train.py needs none of them.",
}


@check("run")
def finishes(evidence: Evidence) -> Passed | Failed:
    """Main runs to its end and returns a model."""
    if evidence.outcome is Outcome.FINISHED:
        return Passed(f"main returned a {evidence.returned.get('type', 'model')} after {evidence.seconds:.0f} s")
    saw = evidence.sentence
    if evidence.crash is not None:
        saw = f"{evidence.sentence}: {_short(evidence.crash.message)}"
    step = NEXT.get(evidence.outcome)
    if evidence.outcome is Outcome.REJECTED and evidence.where is None:
        step = "Look at the file itself: is it the one you mean (--submission FILE), and does it hold Python text?"
    return Failed(saw, "main runs to its end and returns the trained model", evidence.where, step)


def _short(text: str, most: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


@check("run")
def on_device(evidence: Evidence) -> Passed | Failed:
    """Training and the returned model are on the device that was asked for."""
    wanted = evidence.device
    expected = f"batches and parameters on {wanted} in every step, and the model returned on {wanted}"
    for step in evidence.all_steps:
        for what, device in (("the parameters were", step.parameter_device), ("the batch was", step.input_device)):
            if device.split(":")[0] not in (wanted, "?"):
                saw = f"in step {step.index} {what} on {device}"
                return Failed(
                    saw,
                    expected,
                    evidence.where_called(),
                    "Print next(model.parameters()).device and the batch's .device right before the forward pass.",
                )
    evidence.finished()
    returned = [str(d) for d in evidence.returned.get("devices", [])]
    if any(d.split(":")[0] != wanted for d in returned):
        saw = f"the returned model lives on {', '.join(returned)}"
        return Failed(saw, expected, None, "Print the device of every parameter and buffer just before main returns.")
    return Passed(f"{len(evidence.all_steps)} steps and the returned model on {', '.join(returned) or wanted}")


@check("behaviour")
def trained_on_data(evidence: Evidence) -> Passed | Failed:
    """The returned model was trained on the training images."""
    evidence.finished()
    images = evidence.data.get("train", 0)
    rows = max(sum(s.rows for s in evidence.all_steps), evidence.plain_rows)
    share = rows / max(images, 1)
    expected = f"at least {EPOCH_SHARE:.2f} of one pass over the {images} training images, each step changing the model"
    step = "Count the batches that reach the model, and print a weight before and after the loop."
    if not rows:
        return Failed("no training step of the returned model was seen", expected, None, step, 0.0, EPOCH_SHARE)
    if share < EPOCH_SHARE:
        return Failed(
            f"{rows} images in {len(evidence.all_steps)} steps ({share:.2f} of a pass)", expected, evidence.where_called(), step, share, EPOCH_SHARE
        )
    known = [s.changed for s in evidence.all_steps if s.changed is not None]
    if known and not any(known):
        return Failed(
            f"{len(evidence.all_steps)} steps, none of which changed a parameter", expected, evidence.where_backward(), step, 0.0, EPOCH_SHARE
        )
    return Passed(f"{rows} images in {len(evidence.all_steps) or 'hand-written'} steps ({share:.2f} passes)", None, share, EPOCH_SHARE)
