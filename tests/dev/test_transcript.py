"""Reading the runnable blocks of a Markdown file."""

from __future__ import annotations

import pytest

from grader.dev.transcript import TranscriptError, scripts_of

TEXT = """# Title

```python
print("not ours")
```

1. A list:

   ```console
   $ python train.py \\
   >     --fast
   one
   $ ls
   ```

```pdb
$ python -m pdb train.py
> train.py(1)<module>()
(Pdb) p 1
1
(Pdb)
1
```

Prose.

~~~pdb
(Pdb) q
~~~
"""


def test_commands_and_outputs_are_found_with_their_lines():
    first, second, session = scripts_of(TEXT)
    assert "python train.py --fast" == first.opening.command
    assert ("one",) == first.opening.output
    assert 10 == first.opening.line
    assert "   " == first.opening.indent
    assert ("ls", ()) == (second.opening.command, second.opening.output)
    assert session.is_pdb
    assert not first.is_pdb
    assert "python -m pdb train.py" == session.opening.command
    assert [("p 1", ("1",)), ("", ("1",)), ("q", ())] == [(exchange.command, exchange.output) for exchange in session.commands]
    assert "(Pdb) q" == TEXT.splitlines()[session.commands[-1].line - 1]


def test_each_dollar_line_starts_another_session():
    text = "```pdb\n$ python -m pdb a.py\n(Pdb) n\n$ python -m pdb b.py\n(Pdb) p 1\n```\n"
    assert [("python -m pdb a.py", ["n"]), ("python -m pdb b.py", ["p 1"])] == [
        (script.opening.command, [exchange.command for exchange in script.commands]) for script in scripts_of(text)
    ]


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("```console\nno prompt\n```\n", "line 2: a ```console block begins with `$ command`"),
        ("```console\n```\n", "line 2: a ```console block begins with"),
        ("```pdb\n(Pdb) n\n```\n", "line 2: the first ```pdb block begins with the command that starts the debugger"),
        ("```console\n$ ls\n", "line 1: this fence is never closed"),
    ],
)
def test_what_cannot_be_replayed_is_refused_with_its_line(text, word):
    with pytest.raises(TranscriptError) as caught:
        scripts_of(text)
    assert word in str(caught.value)


def test_a_fence_inside_a_longer_fence_is_text():
    assert [] == scripts_of("````markdown\n```console\n$ ls\n```\n````\n")
