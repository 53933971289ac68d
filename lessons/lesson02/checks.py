"""Lesson 02: the same file trains on the CPU and on a (real or simulated) CUDA device, each time where it was told to."""

from grader.judge import expect

GPU = (
    expect.finishes,
    expect.on_device,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy,
    expect.accuracy(0.75),
)
CPU = (
    expect.finishes,
    expect.on_device,
    expect.parameters_move,
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy,
    expect.accuracy(0.75),
)
CHECKS = (*(item.on("gpu") for item in GPU), *(item.on("cpu") for item in CPU))
