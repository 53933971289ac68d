"""How observations cross from the child to the parent: one JSON line each, numbered and signed.

A line is `MAC SPACE JSON NEWLINE`. The MAC (keyed BLAKE2, 16 hex digits) covers a running number and the JSON text, so that a line that the
recorder did not write, a dropped line and a repeated line are all noticed. NaN and infinity are evidence: they cross explicitly,
as objects of their own, because strict JSON has no words for them. Nothing is ever unpickled.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_FLOAT = "__float__"


_dumps = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class BadLineError(ValueError):
    """A line of the evidence stream is not one that the recorder wrote."""


def _plain(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return {_FLOAT: str(value)}
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _restore(value: Any) -> Any:
    if isinstance(value, dict):
        if len(value) == 1 and _FLOAT in value:
            return float(value[_FLOAT])
        return {key: _restore(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_restore(item) for item in value]
    return value


def _mac(key: bytes, number: int, text: bytes) -> bytes:
    return hashlib.blake2b(b"%d " % number + text, key=key, digest_size=8).hexdigest().encode()


def encode(record: dict[str, Any], number: int, key: bytes) -> bytes:
    """One record as a signed line. number counts lines from 0; key: the run's secret (at most 64 bytes)."""
    try:
        text = _dumps(record)
    except ValueError:
        text = _dumps(_plain(record))
    body = text.encode()
    return _mac(key, number, body) + b" " + body + b"\n"


def decode(line: bytes, number: int, key: bytes) -> dict[str, Any]:
    """The record of one line.

    Raises BadLineError where the signature does not fit the text, the number or the key.
    """
    mac, _, body = line.rstrip(b"\n").partition(b" ")
    if mac != _mac(key, number, body):
        msg = f"line {number} of the evidence was not written by the recorder"
        raise BadLineError(msg)
    record = json.loads(body)
    if not isinstance(record, dict):
        msg = f"line {number} of the evidence is not a record"
        raise BadLineError(msg)
    restored: dict[str, Any] = _restore(record) if _FLOAT.encode() in body else record
    return restored


def pack_floats(data: bytes, shape: tuple[int, ...]) -> dict[str, Any]:
    """A float32 array, given as little-endian bytes, as a JSON value."""
    return {"shape": list(shape), "f32": base64.b64encode(data).decode("ascii")}


def unpack_floats(value: dict[str, Any]) -> NDArray[np.float32]:
    """The array of pack_floats.  Raises BadLineError if its size contradicts its shape."""
    import numpy as np

    raw = base64.b64decode(value["f32"])
    shape = tuple(int(n) for n in value["shape"])
    if len(raw) != 4 * math.prod(shape):
        msg = f"an array of shape {shape} came with {len(raw)} bytes"
        raise BadLineError(msg)
    return np.frombuffer(raw, dtype="<f4").reshape(shape)
