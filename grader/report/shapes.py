"""The shape trace: which shapes went through the model, call by call, until it stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.report import clean

if TYPE_CHECKING:
    from grader.evidence.records import ShapeCall
    from grader.report.sheet import Part, Sheet

_MOST = 24
_WIDEST = 24


def draw_trace(trace: tuple[ShapeCall, ...], sheet: Sheet, indent: int = 2) -> None:
    """Write the trace as a table of calls, one a line: name, kind, input shapes -> output shape. Only the last 24 calls of a long one."""
    kept = trace[-_MOST:]
    hidden = len(trace) - len(kept)
    if hidden:
        sheet.put((f"... {hidden} earlier calls", "dim"), indent=indent)
    base = min((call.depth for call in kept), default=0)
    rows = [_row(call, base) for call in kept]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    depths = [call.depth for call in kept[1:]] + [-1]
    results = [_result(call, deeper=following > call.depth) for call, following in zip(kept, depths, strict=True)]
    roomy = indent + sum(widths) + 8 + max(map(len, results), default=0) <= sheet.width
    for call, (name, kind, given), result in zip(kept, rows, results, strict=True):
        stopped = call.output is None
        label = f"{name:<{widths[0]}}  {kind:<{widths[1]}}  "
        shown: tuple[Part, ...] = ("-> ", (result, "bold red" if stopped else "bold"))
        if roomy:
            label += f"{given:<{widths[2]}} "
            sheet.put(*shown, label=label, style="bold" if stopped else "", indent=indent, hang=indent + len(label))
        else:  # the shapes on a line of their own
            sheet.put(label=label, style="bold" if stopped else "", indent=indent, hang=0)
            sheet.put(f"{given} ", *shown, indent=indent + 2, hang=indent + 4)


def _row(call: ShapeCall, base: int) -> tuple[str, str, str]:
    name, kind = (clean.shorten(clean.inline(word).encode("ascii", "replace").decode(), _WIDEST) for word in (call.name, call.kind))
    return "  " * min(call.depth - base, 4) + name, "" if kind == name else kind, " + ".join(_shape(shape) for shape in call.inputs) or "()"


def _result(call: ShapeCall, *, deeper: bool) -> str:
    if call.output is not None:
        return _shape(call.output)
    return "did not return" if deeper else "stopped here"  # the innermost call is the place; those around it only pass the exception on


def _shape(shape: tuple[int, ...]) -> str:
    return f"({shape[0]},)" if len(shape) == 1 else f"({', '.join(str(size) for size in shape)})"
