"""What goes in and what comes out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from grader.evidence.view import MissingEvidence
from grader.judge.check import check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from grader.evidence.view import Evidence

MATES = 1e-2
"""Largest share of the outputs' spread that a sample's output may change with its batch-mates.

Rounding gives 1e-6 to 1e-3 (bfloat16), mixing gives 0.1 and more.
"""


@check("shapes")
def output_shape(evidence: Evidence) -> Passed | Failed:
    """Batches of any size give the scores of each image."""
    shape = "(N, 10)" if evidence.width > 1 else "(N,) or (N, 1)"
    expected = f"a float tensor {shape} for N = 1, 7, 64 and more rows than in training"
    for name in ("eval_transform", "batch_sizes", "heldout", "validation"):
        crash = evidence.probe(name).crash
        if crash is not None:
            where = crash.places[-1] if crash.places else None
            text = crash.message if crash.type == "ContractError" else f"{crash.type}: {crash.message}"
            return Failed(
                " ".join(text.split())[:300], expected, where, "Call the returned model with one image and print the shape after each operation."
            )
    sizes = evidence.values("batch_sizes")["sizes"]
    return Passed(f"{shape} for N = {', '.join(str(n) for n in sizes)}")


@check("behaviour")
def batch_mates(evidence: Evidence) -> Passed | Failed:
    """An image's scores do not depend on the other images of its batch."""
    seen = evidence.values("batch_mates")
    expected = f"the same scores alone and in a batch (a change below {MATES:g} of their spread)"
    step = "Feed one image alone, then the same image inside a batch, in eval mode: compare the two rows of scores."
    difference = seen["difference"]
    if math.isnan(difference):
        msg = "the scores are not finite, so that they cannot be compared"
        raise MissingEvidence(msg)
    if not difference < MATES:
        return Failed(f"scores change by {difference:.2g} of their spread with the batch", expected, None, step, difference, MATES)
    return Passed(f"largest change {difference:.1g} of the spread", None, difference, MATES)
