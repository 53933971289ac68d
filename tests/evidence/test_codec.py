"""The evidence stream: what crosses unchanged, and what is noticed."""

import math

import numpy as np
import pytest

from grader.evidence.codec import BadLineError, decode, encode, pack_floats, unpack_floats

KEY = b"k" * 32


@pytest.mark.parametrize(
    "value",
    [0, -1.5, "text with ümläuts", None, True, [1, [2.5]], {"a": {"b": None}}, math.inf, -math.inf, [1.0, math.inf], {"x": [-math.inf]}],
)
def test_a_record_crosses_unchanged(value: object) -> None:
    assert {"k": "x", "value": value} == decode(encode({"k": "x", "value": value}, 3, KEY), 3, KEY)


def test_nan_crosses_as_nan() -> None:
    assert math.isnan(decode(encode({"v": math.nan}, 0, KEY), 0, KEY)["v"])


def test_no_gradient_and_zero_gradient_stay_different() -> None:
    assert {"a": None, "b": 0.0} == decode(encode({"a": None, "b": 0.0}, 0, KEY), 0, KEY)


@pytest.mark.parametrize(
    ("number", "key"),
    [(1, KEY), (0, b"another key")],
    ids=["a line out of its place", "a line by somebody else"],
)
def test_a_line_that_the_recorder_did_not_write_here_is_refused(number: int, key: bytes) -> None:
    line = encode({"k": "end"}, 0, KEY)
    with pytest.raises(BadLineError, match="not written by the recorder"):
        decode(line, number, key)


def test_a_changed_line_is_refused() -> None:
    line = encode({"k": "step", "loss": 2.3}, 0, KEY).replace(b"2.3", b"0.1")
    with pytest.raises(BadLineError):
        decode(line, 0, KEY)


@pytest.mark.parametrize("line", [b"", b"\n", b"PASSED\n", b'{"k": "end"}\n', b"0" * 16 + b" {}\n"])
def test_free_text_is_refused(line: bytes) -> None:
    with pytest.raises(BadLineError):
        decode(line, 0, KEY)


def test_arrays_cross_bit_by_bit() -> None:
    array = np.array([[1.5, -2.0, np.inf], [np.nan, 0.0, 3e-8]], dtype="<f4")
    np.testing.assert_array_equal(array, unpack_floats(pack_floats(array.tobytes(), array.shape)))


def test_an_array_that_contradicts_its_shape_is_refused() -> None:
    with pytest.raises(BadLineError, match="shape"):
        unpack_floats(pack_floats(b"\0" * 8, (3, 1)))
