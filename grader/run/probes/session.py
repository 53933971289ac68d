"""All probes of one returned model, in order, each one's answer or crash written down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torchvision.datasets import MNIST

from grader.evidence.codec import pack_floats
from grader.run.crashes import described
from grader.run.lineage import first_moments, relate
from grader.run.picture import autograd_graph
from grader.run.probes import behaviour, offers
from grader.run.probes.ask import IMAGE, ContractError, TwoScores, forward_all, labels_of, prepare, to_bytes, width_of
from grader.run.truth import gradient_truth

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    import numpy as np
    from numpy.typing import NDArray
    from torch import nn

    from grader.run.recorder import Recorder

PROBE_ROWS, VALIDATION_ROWS, TRAIN_ROWS = 400, 10_000, 256


def question(
    model: nn.Module, module: ModuleType, recorder: Recorder, emit: Callable[..., None], job: dict[str, Any], images: NDArray[np.uint8]
) -> None:
    """Put every question to the model.

    images: the held-out set, (N, 28, 28) uint8, without labels. Emits 'relation', 'parameters', 'logits' and one 'probe' line a question.
    """
    emit("stage", name="probes")
    device: str = job["device"]
    model = getattr(model, "_orig_mod", model)
    was_training = model.training
    relation = relate(recorder, model)
    largest = max([root.largest for root in recorder.roots.values()] + [int(job.get("largest", 0))], default=1)
    contract = job["contract"]
    positive, shape = contract["positive"], None if contract["image"] == "any" else IMAGE
    where = sorted({str(p.device) for p in model.parameters()} | {str(b.device) for b in model.buffers()})
    emit("returned", type=type(model).__name__, training=was_training, devices=where, relation=relation)
    own_model, model = model, model if positive is None else TwoScores(model)

    def ask(name: str, function: Callable[..., Any], *args: Any) -> Any:
        try:
            values = function(*args)
        except Exception as error:  # noqa: BLE001 - the learner's model may raise anything; it is the probe's answer
            crash = {**described(error, job["file"]), "during": name, "contract": isinstance(error, ContractError)}
            emit("probe", name=name, values={}, crash=crash)
            return None
        emit("probe", name=name, values=values if isinstance(values, dict) else {}, crash=None)
        return values

    transform = module.eval_transform  # read only now: main may have fitted or rebound it
    train = MNIST(job["data_dir"], train=True)
    test = MNIST(job["data_dir"], train=False)
    emit("data", train=len(train), test=len(test), largest=largest)
    heldout = ask("eval_transform", prepare, transform, images, shape)
    if heldout is None:
        return
    again = prepare(transform, images[:16], shape)
    emit("probe", name="transform_twice", values={"same": bool(torch.equal(again, heldout[:16]))}, crash=None)
    if "predict" in contract["offers"]:
        ask("predict", offers.predict, module.predict, own_model, transform, images, shape, device)
    if "loss" in contract["offers"]:
        ask("loss", offers.loss, module.loss, device)
    batch = heldout[:PROBE_ROWS]
    ask("batch_sizes", behaviour.batch_sizes, model, batch, device, largest)
    model.eval()
    logits = ask("heldout", forward_all, model, heldout, device)
    if logits is None:
        return
    emit("logits", set="heldout", **pack_floats(to_bytes(logits), tuple(logits.shape)))
    count = min(len(test), VALIDATION_ROWS)
    validation = ask("validation", lambda: forward_all(model, prepare(transform, test.data[:count].numpy(), shape), device))
    if validation is not None:
        emit("logits", set="validation", **pack_floats(to_bytes(validation), tuple(validation.shape)))
    ask("batch_mates", behaviour.batch_mates, model, batch, device, largest)
    seen = ask("first_input", behaviour.first_input, model, heldout, device)
    emit("first_inputs", **first_moments(recorder, relation, (seen or {}).get("weight")))
    own = prepare(transform, train.data[:TRAIN_ROWS].numpy(), shape)
    _in_training(model, own, labels_of(train, TRAIN_ROWS, positive), relation, emit, ask, job)


def _in_training(
    model: nn.Module,
    own: torch.Tensor,
    labels: torch.Tensor,
    relation: dict[str, Any],
    emit: Callable[..., None],
    ask: Callable[..., Any],
    job: dict[str, Any],
) -> None:
    """The questions in training mode: gradients, the flow of one pass, and at last those that change the weights.

    own: training images as eval_transform gives them.
    """
    device: str = job["device"]
    model.train()
    emit("truth", **gradient_truth(model, own.to(device), width_of(model)))
    ask("modes", behaviour.modes, model, own[: 2 * behaviour.MATES], device)
    ask("own_gradients", behaviour.own_gradients, model, own, labels, device)
    if job.get("picture"):
        ask("picture", autograd_graph, model, own[:2], device)
    flow = ask("flow", behaviour.flow, model, own, device)
    used = set((flow or {}).get("used", []))
    parameters = [
        {
            "name": name,
            "shape": list(p.shape),
            "trainable": p.requires_grad,
            "device": str(p.device),
            "dtype": str(p.dtype).removeprefix("torch."),
            "moved": relation["moved"].get(name),
            "called": name in used or not used,
        }
        for name, p in model.named_parameters()
    ]
    emit("parameters", items=parameters)
    ask("amplify", behaviour.amplify, model, own[:64], device, (flow or {}).get("last"))
