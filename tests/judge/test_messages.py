"""The exact words of every check, passed and failed, over evidence that is spoilt in one respect at a time.

Here the shared checks and those of lessons 01 to 06; the others' own checks have test_messages_silent.py.
"""

from __future__ import annotations

import math

import pytest

from grader.evidence.eventlog import EventLog
from grader.evidence.records import Crash, Moments, Outcome
from grader.evidence.view import Truth
from grader.judge.check import answer
from grader.judge.expect import log_accuracy_within
from grader.judge.verdict import Failed, Passed, Skipped
from tests.judge.healthy import CRASH, HIDDEN, PLACE, healthy, log, parameters, probes, steps, stopped
from tests.judge.words import CHECKS, LAST, shared, text

CONTRACT = Crash("ContractError", "the model returned a Tensor of shape (5, 10) and dtype float32 for a batch of 7 images", (PLACE,), "batch_sizes")
NORMS = {**dict.fromkeys(HIDDEN, 0.2), "output.weight": 0.4}
FALLING = (tuple(range(10)), tuple(2.3 / (i + 1) for i in range(10)))

SPOILT = {
    (1, "finishes"): {
        "raised": stopped(Outcome.RAISED, "RuntimeError in main", crash=CRASH, where=PLACE),
        "timeout": stopped(Outcome.TIMEOUT, "it was still running after 90 s (in main) and was stopped"),
        "memory": stopped(Outcome.OUT_OF_MEMORY, "it used more than the memory allowed (3012 MB, in main) and was stopped"),
        "disk": stopped(Outcome.DISK_FULL, "it filled its run directory beyond what is allowed (in main) and was stopped"),
        "exited": stopped(Outcome.EXITED, "the submission ended the process itself with sys.exit(0) in main"),
        "killed": stopped(Outcome.KILLED, "the process was ended by SIGKILL in main"),
        "rejected": stopped(Outcome.REJECTED, "the file is empty"),
        "rejected at a line": stopped(Outcome.REJECTED, "SyntaxError: '(' was never closed", where=PLACE),
        "contract": stopped(Outcome.BROKEN_CONTRACT, "the file offers no main; expected main(data_dir, log_dir, device, epochs)"),
        "tampered": stopped(Outcome.TAMPERED, "the observation was disturbed: a global module hook was removed"),
    },
    (1, "output_shape"): {
        "wrong shape": healthy(probes=probes(batch_sizes=CONTRACT)),
        "crash": healthy(probes=probes(heldout=CRASH)),
        "binary": healthy(width=1),
        "binary, wrong shape": healthy(width=1, probes=probes(batch_sizes=CONTRACT)),
    },
    (1, "batch_mates"): {"mixed": healthy(probes=probes(batch_mates={"difference": 0.8})), "nan": healthy(probes=probes(batch_mates={"difference": math.nan}))},
    (1, "features_used"): {
        "cropped": healthy(probes=probes(flow={"features": 0.69})),
        "no map": healthy(probes=probes(flow={"feature_op": None})),
        "no pixels": healthy(probes=probes(flow={"feature_op": None, "pixels": 0.0})),
    },
    (1, "trained_on_data"): {
        "no step": healthy(all_steps=()),
        "few": healthy(all_steps=steps(20)),
        "still": healthy(all_steps=steps(changed=False, update=0.0)),
        "by hand": healthy(all_steps=(), plain_rows=10000),
    },
    (1, "parameters_move"): {
        "none": healthy(all_steps=steps(gradients={}), probes=probes(own_gradients={"norms": {**NORMS, HIDDEN[0]: None}})),
        "not finite": healthy(all_parameters=parameters(moved=math.nan)),
        "still": healthy(all_parameters=parameters(moved=0.0)),
        "frozen": healthy(all_parameters=tuple(p.__class__(p.name, p.shape, False, *list(vars(p).values())[3:]) for p in parameters())),
        "uncalled": healthy(all_parameters=()),
    },
    (1, "gradient_norm"): {
        "nan": healthy(probes=probes(own_gradients={"norms": {**NORMS, HIDDEN[0]: math.nan}})),
        "zero": healthy(probes=probes(own_gradients={"norms": dict.fromkeys(NORMS, 0.0)})),
        "starved": healthy(probes=probes(own_gradients={"norms": {**NORMS, HIDDEN[0]: 1e-9}})),
    },
    (1, "log_present"): {
        "no file": healthy(log=EventLog((), {})),
        "damaged": healthy(log=EventLog(("x",), {}, ("x is damaged: DataLossError",))),
        "open": healthy(writers={"made": 1, "open": 1}),
    },
    (1, "log_scalars"): {
        "no tag": healthy(log=log(train=None)),
        "few": healthy(log=log(train=((1,), (2.0,)))),
        "nan": healthy(log=log(validation=((1,), (math.nan,)))),
        "steps": healthy(log=log(train=((0, 1, 1, 2, 3), (2.0, 1.0, 1.0, 1.0, 0.5)))),
        "percent": healthy(log=log(accuracy=((1,), (92.0,)))),
        "flat": healthy(log=log(train=(tuple(range(10)), tuple(2.31 - i / 1000 for i in range(10))))),
        "rising": healthy(log=log(train=(tuple(range(10)), tuple(float(i) for i in range(10))))),
    },
    (1, "log_accuracy"): {
        "untrue": healthy(log=log(accuracy=((1,), (0.99,)))),
        "missing": healthy(log=log(accuracy=None)),
        "not finite": healthy(losses={}),
        "once true, but neither last nor best": healthy(log=log(accuracy=(tuple(range(6)), (0.5, 0.92, 0.6, 0.7, 0.8, 0.99)))),
        "once true, in an epoch of three": healthy(epochs=3, log=log(accuracy=(tuple(range(3)), (0.5, 0.92, 0.99)))),
    },
    (1, "accuracy"): {
        "low": healthy(accuracies={"heldout": 0.31, "validation": 0.92}),
        "none": healthy(accuracies={}),
        "not finite": healthy(accuracies={"heldout": 0.0, "validation": 0.0}, losses={}),
        "binary": healthy(width=1),
        "binary, low": healthy(width=1, accuracies={"heldout": 0.5, "validation": 0.5}),
    },
    (2, "on_device_gpu"): {
        "parameters": healthy(leg="gpu", device="cuda"),
        "batch": healthy(leg="gpu", device="cuda", all_steps=steps(parameter_device="cuda:0")),
        "returned": healthy(leg="gpu", device="cuda", all_steps=steps(parameter_device="cuda:0", input_device="cuda:0")),
        "fine": healthy(
            leg="gpu", device="cuda", all_steps=steps(parameter_device="cuda:0", input_device="cuda:0"), returned={"type": "Net", "devices": ["cuda:0"]}
        ),
    },
    (3, "loss_input"): {"unseen": healthy(), "unseen and untrue": healthy(log=log(validation=((1,), (1.6,))))},
    (3, "logit_range"): {
        "probabilities": healthy(probes=probes(amplify={"spreads": [0.9, 0.99, 1.0], "low": 0.0, "sum_mean": 1.0, "sum_std": 0.0, "lse": 2.4, "widest": 1.0})),
        "tanh": healthy(probes=probes(amplify={"spreads": [1.5, 1.9, 2.0], "widest": 2.0})),
    },
    (4, "depth"): {"shallow": healthy(probes=probes(flow={"depth": 1}))},
    (4, "gradient_reaches"): {
        "starved": healthy(all_steps=steps(gradients={**dict.fromkeys(HIDDEN, 1e-7), "output.weight": 0.5})),
        "none": healthy(all_steps=steps(gradients={**dict.fromkeys(HIDDEN, None), "output.weight": 0.5})),
        "no output": healthy(all_steps=steps(gradients=dict.fromkeys(HIDDEN, 0.1))),
    },
    (10, "none_frozen"): {"frozen": healthy(all_parameters=parameters(trainable=False, moved=0.0))},
    (4, "gradient_true"): {
        "boosted": healthy(truth=(Truth(HIDDEN[0], 5.0, 0.001),)),
        "untested": healthy(truth=(), truth_error="RuntimeError: only once"),
        "nothing delivered": healthy(truth=tuple(Truth(name, 0.0, 0.0) for name in HIDDEN)),
        "boosted, but not in a hidden layer": healthy(truth=(*(Truth(name, 0.1, 0.1) for name in HIDDEN), Truth("output.weight", 5.0, 0.001))),
    },
    (5, "finite"): {"nan": healthy(all_steps=(*steps(20), *steps(1, loss=math.nan, finite=False)))},
    (5, "healthy_steps"): {
        "large": healthy(all_steps=steps(update=1.4)),
        "one large": healthy(all_steps=(*steps(3), *steps(1, update=3.0), *steps(100))),
        "skips": healthy(all_steps=tuple(s for i in range(40) for s in (steps(1) if i % 3 else steps(1, changed=False, update=0.0)))),
        "restored": healthy(all_steps=(*steps(140), *steps(1, revisits=3), *steps(9))),
        "odd rate": healthy(all_steps=steps(lr=10.0)),
    },
    (5, "loss_falls"): {
        "climbs": healthy(all_steps=(*steps(20), *steps(20, loss=40.0), *steps(110))),
        "climbs and stays there": healthy(all_steps=(*steps(20), *steps(20, loss=40.0), *steps(110)), losses={"validation": 2.3, "heldout": 2.3}),
        "stuck": healthy(all_steps=steps(loss=2.3)),
        "ends where it began": healthy(all_steps=steps(loss=2.3), losses={"validation": 2.3, "heldout": 2.3}),
        "few": healthy(all_steps=steps(2), log=log(train=((1,), (2.0,)))),
    },
    (6, "input_training"): {"bytes": healthy(inputs={"train": Moments(100, -0.42, 0.004, -0.42, -0.41)}), "unseen": healthy(inputs={})},
    (6, "input_evaluation"): {
        "random": healthy(probes=probes(transform_twice={"same": False})),
        "raw": healthy(inputs={"heldout": Moments(100, 0.13, 0.31, 0.0, 1.0)})},
}  # fmt: skip
CASES = [(lesson, check, name) for (lesson, check), cases in SPOILT.items() for name in cases]


@pytest.mark.parametrize(("lesson", "check", "name"), CASES)
def test_the_words_of_a_failure(lesson: int, check: str, name: str, snapshot) -> None:
    item = CHECKS[lesson, check]
    evidence = SPOILT[lesson, check][name]
    assert snapshot == f"{item.title}\n{text(answer(item, {item.leg: evidence}).answer)}"


FIRST = {check for lesson, check in CHECKS if lesson <= LAST}
PASSES = [key for key, item in CHECKS.items() if key[0] <= LAST or (shared(item) and key[1] not in FIRST)]


@pytest.mark.parametrize(("lesson", "check"), [key for key in PASSES if not key[1].endswith(("_gpu", "_cpu"))])
def test_the_words_of_a_pass(lesson: int, check: str, snapshot) -> None:
    given = answer(CHECKS[lesson, check], {"main": healthy()}).answer
    assert isinstance(given, Passed)
    assert snapshot == f"{CHECKS[lesson, check].title}\n{text(given)}"


def test_a_lesson_may_have_its_own_tolerance_for_the_logged_accuracy(snapshot) -> None:
    evidence = healthy(log=log(accuracy=((1,), (0.88,))))
    assert snapshot == "\n".join(text(answer(log_accuracy_within(tolerance), {"main": evidence}).answer) for tolerance in (0.01, 0.05))


def test_every_shared_check_and_every_one_of_the_first_lessons_has_a_failing_case() -> None:
    plain = {key[1].removesuffix("_gpu").removesuffix("_cpu") for key, item in CHECKS.items() if key[0] <= LAST or shared(item)}
    answers = [(check, answer(item := CHECKS[lesson, check], {item.leg: SPOILT[lesson, check][name]}).answer) for lesson, check, name in CASES]
    failed = {check.removesuffix("_gpu") for check, given in answers if isinstance(given, Failed)}
    assert plain == failed


OUTCOMES = [outcome for outcome in Outcome if outcome is not Outcome.FINISHED]


@pytest.mark.parametrize(("lesson", "check"), list(CHECKS))
def test_a_run_that_stopped_is_skipped_with_a_reason_and_never_passes(lesson: int, check: str) -> None:
    item = CHECKS[lesson, check]
    for outcome in OUTCOMES:
        evidence = stopped(outcome, "RuntimeError in main", crash=CRASH if outcome is Outcome.RAISED else None, where=PLACE)
        given = answer(item, {item.leg: evidence}).answer
        assert isinstance(given, Failed if check.startswith("finishes") else Skipped), f"{outcome}: {text(given)}"
