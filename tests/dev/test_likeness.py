"""When two outputs are the same, and when they are not."""

from __future__ import annotations

import pytest

from grader.dev.likeness import align, alike, presentable, same


@pytest.mark.parametrize(
    ("documented", "real"),
    [
        ("loss 2.300", "loss 2.305"),
        ("accuracy 0.913", "accuracy 0.930"),
        ("gradient 7.1e-07", "gradient 7.3e-07"),
        ("mean -1.2e-09", "mean 3.4e-08"),
        ("loss 0.0061", "loss 0.0052"),
        ("93% right", "92% right"),
        ("93.1 %", "91.5 %"),
        ("1873/2000 right", "1851/2000 right"),
        ("1873 of 2000", "1851 of 2000"),
        ("took 1.23 s, 12 ms", "took 45.6 s, 3 ms"),
        ("finished in 0:01:12", "finished in 0:00:59"),
        ("<object at 0x7f1a323a4700>", "<object at 0x10a2b3c4d5>"),
        ("> /home/you/course/exercises/lesson01/train.py(12)forward()", "> exercises/lesson01/train.py(12)forward()"),
        ("> .../exercises/lesson01/train.py(12)f()", "> /tmp/a b/exercises/lesson01/train.py(12)f()".replace("a b", "ab")),
        ("> C:\\you\\exercises/lesson01/train.py(12)f()", "> exercises/lesson01/train.py(12)f()"),
        (
            '  File "/usr/lib/python3.11/site-packages/torch/x.py", line 125, in f',
            '  File "/v/lib/python3.13/site-packages/torch/x.py", line 99, in f',
        ),
        ("> /a/site-packages/torch/nn/linear.py(125)forward()", "> /b/site-packages/torch/nn/linear.py(134)forward()"),
        ("Breakpoint 1 at /a/exercises/lesson01/train.py:12", "Breakpoint 1 at exercises/lesson01/train.py:13"),
        ("events.out.tfevents.1.host.2.0", "events.out.tfevents.3.vm.4.0"),
        ("  a    1.00", "  a  1.00"),
        ("nan inf", "nan inf"),
        ("───────", "──────────"),
    ],
)
def test_the_same(documented, real):
    assert same(documented, real)
    assert same(real, documented)


@pytest.mark.parametrize(
    ("documented", "real"),
    [
        ("loss 2.30", "loss 2.60"),
        ("accuracy 0.91", "accuracy 0.85"),
        ("gradient 7.1e-07", "gradient 5.0e-02"),
        ("gradient 7.1e-05", "gradient 1.0e-04"),
        ("loss 0.0061", "loss 0.0190"),
        ("93% right", "80% right"),
        ("1873/2000", "1873/3000"),
        ("1873/2000", "1500/2000"),
        ("(64x1440 and 1000x10)", "(64x1440 and 1440x10)"),
        ("torch.Size([64, 10, 12, 12])", "torch.Size([63, 10, 12, 12])"),
        ("epoch 1", "epoch 2"),
        ("1440", "1441"),
        ("> exercises/lesson01/train.py(12)f()", "> exercises/lesson01/train.py(13)f()"),
        ("> exercises/lesson01/train.py(12)f()", "> exercises/lesson02/train.py(12)f()"),
        ("loss 2.3", "loss nan"),
        ("a", "b"),
    ],
)
def test_not_the_same(documented, real):
    assert not same(documented, real)


def test_alike_ignores_every_number():
    assert alike("epoch 1: 0.5", "epoch 27: 1e9")
    assert not alike("epoch 1", "step 1")


@pytest.mark.parametrize(
    ("documented", "real", "cost"),
    [
        (["a", "b"], ["a", "b"], 0),
        (["a", "b"], ["a"], 1),
        (["a"], ["a", "b", "c"], 2),
        (["..."], [], 0),
        (["..."], ["a", "b", "c"], 0),
        (["a", "...", "c"], ["a", "x", "c", "y", "c"], 0),
        (["a", "...", "c"], ["a", "c"], 0),
        (["a", "...", "c"], ["a", "x"], 1),
        (["...", "b", "..."], ["a", "b", "c"], 0),
        (["...", "b", "..."], ["a", "c"], 1),
        ([], [], 0),
    ],
)
def test_an_elision_stands_for_any_lines(documented, real, cost):
    found, pairs = align(documented, real, same)
    assert cost == found
    assert list(range(len(documented))) == sorted({left for left, _ in pairs if left is not None})
    assert list(range(len(real))) == [right for _, right in pairs if right is not None]


def test_what_a_page_shows_has_no_trace_of_the_machine():
    output = (
        "\n\x1b[1mbold\x1b[0m  \r\n 10%\r 50%\r100%\n> /a/course/exercises/lesson01/train.py(1)<module>()\n"
        "  /usr/lib/python3.11/bdb.py(597)run()\n-> exec(cmd, globals, locals)\n  <string>(1)<module>()\n"
        "  /v/lib/python3.11/site-packages/torch/nn/modules/module.py(1751)_wrapped_call_impl()\n-> return self._call_impl(*args, **kwargs)\n\n"
    )
    assert [
        "bold",
        "100%",
        "> exercises/lesson01/train.py(1)<module>()",
        "  site-packages/torch/nn/modules/module.py(1751)_wrapped_call_impl()",
        "-> return self._call_impl(*args, **kwargs)",
    ] == presentable(output, "/a/course")


def test_the_debuggers_own_frames_are_no_part_of_a_traceback():
    output = (
        "Traceback (most recent call last):\n"
        '  File "/usr/lib/python3.13/pdb.py", line 1944, in main\n    pdb._run(target)\n'
        '  File "<string>", line 1, in <module>\n'
        '  File "/a/exercises/lesson01/train.py", line 3, in <module>\n    main()\nValueError: no'
    )
    assert [
        "Traceback (most recent call last):",
        '  File "exercises/lesson01/train.py", line 3, in <module>',
        "    main()",
        "ValueError: no",
    ] == presentable(output, "/a")
