"""The vocabulary of checks that lessons share: each function returns a Check, or is one.

A predicate moves in here on its third use; what only one lesson asks lives in that lesson's checks.py.
"""

from grader.judge.expect.accuracy import accuracy
from grader.judge.expect.gradients import gradient_norm, gradient_true, none_frozen, parameters_move
from grader.judge.expect.loss import loss_input
from grader.judge.expect.run import finishes, on_device, trained_on_data
from grader.judge.expect.shapes import batch_mates, output_shape
from grader.judge.expect.tensorboard import log_accuracy, log_accuracy_within, log_present, log_scalars

__all__ = [
    "accuracy",
    "batch_mates",
    "finishes",
    "gradient_norm",
    "gradient_true",
    "log_accuracy",
    "log_accuracy_within",
    "log_present",
    "log_scalars",
    "loss_input",
    "none_frozen",
    "on_device",
    "output_shape",
    "parameters_move",
    "trained_on_data",
]
