"""What the recorder keeps of a model's inputs: each row once, whatever form it has, with the call's mode and answers."""

from __future__ import annotations

import base64
import zlib

import numpy as np
import pytest
import torch
from torch import nn

from grader.run.passes import Passes
from grader.run.pictures import as_images
from grader.run.samples import Samples
from grader.run.steps import Root
from grader.run.tensors import graph_of, number_of

BATCH = torch.randint(0, 256, (5, 1, 28, 28), generator=torch.Generator().manual_seed(0)).float()
FORMS = {
    "images": lambda b: b,
    "normalised": lambda b: (b / 255 - 0.1307) / 0.3081,
    "flat": lambda b: b.flatten(1),
    "without channel": lambda b: b[:, 0],
    "three channels": lambda b: b.expand(-1, 3, -1, -1),
    "channels last": lambda b: b.permute(0, 2, 3, 1),
    "sequence first": lambda b: b[:, 0].transpose(0, 1),
    "bytes": lambda b: b.to(torch.uint8),
    "in a tuple": lambda b: (b, torch.arange(5)),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_batch_gives_the_same_rows(form):
    whole = as_images(BATCH)
    assert whole is not None
    assert np.array_equal(whole, as_images(FORMS[form](BATCH)))


@pytest.mark.parametrize("value", [torch.zeros(5), torch.zeros(5, 3), torch.zeros(0, 1, 28, 28), torch.ones(4, 28, 28, dtype=torch.bool), None])
def test_what_is_no_batch_of_images_gives_none(value):
    assert as_images(value) is None


def test_channels_that_differ_are_kept_apart_and_large_images_averaged():
    mask = (BATCH > 100).float()
    assert as_images(torch.cat([BATCH, mask], dim=1)).shape == (5, 2, 28, 28)
    assert as_images(torch.rand(5, 9, 28, 28)).shape == (5, 1, 28, 28)
    assert as_images(torch.rand(5, 1, 90, 70)).shape == (5, 1, 64, 64)


def test_inside_a_torch_func_transform_rows_can_be_read():
    seen = []

    def loss(weight, batch):
        seen.append(as_images(batch))
        return (weight * batch).sum()

    torch.func.grad(loss)(torch.ones(1), BATCH)
    assert np.array_equal(seen[0], as_images(BATCH))


def test_equal_rows_are_written_once_and_calls_say_mode_and_answers():
    lines = []
    samples = Samples(lambda kind, **fields: lines.append((kind, fields)))
    net = nn.Sequential(nn.Flatten(), nn.Dropout(), nn.Linear(784, 10))
    root = Root(0, net, "Sequential")
    for batch in (BATCH, BATCH.flip(0)):
        samples.begin(0, batch, root)
        samples.end(torch.eye(10)[:5], 10)
        net.eval()
    samples.settle(3, acted=False)
    kinds = [kind for kind, _ in lines]
    assert kinds == ["rows", "modes", "modes", "call", "call"]
    assert lines[0][1]["count"] == 5
    assert len(zlib.decompress(base64.b64decode(lines[0][1]["data"]))) == 5 * 784
    first, second = (np.frombuffer(base64.b64decode(fields["ids"]), "<i4").tolist() for kind, fields in lines if kind == "call")
    assert (first, second) == ([0, 1, 2, 3, 4], [4, 3, 2, 1, 0])
    assert [fields for kind, fields in lines if kind == "modes"] == [{"on": ["1"], "off": []}, {"on": [], "off": ["1"]}]
    assert np.frombuffer(base64.b64decode(lines[3][1]["answers"]), np.uint8).tolist() == [0, 1, 2, 3, 4]


def test_a_graph_carried_over_from_an_earlier_step_is_counted():
    weight = torch.ones(3, requires_grad=True)
    first = (weight * 2).sum()
    mark = number_of(first)
    fresh = (weight * 3).sum()
    assert graph_of(fresh, mark)[1] == 0
    carried = fresh + 0.5 * first
    assert graph_of(carried, mark)[1] > 0


def test_the_forward_half_needs_its_other_half():
    with pytest.raises(NotImplementedError):
        Passes(lambda *_, **__: None, "train.py").settle()
