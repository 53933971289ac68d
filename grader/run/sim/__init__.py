"""The parts of the simulated CUDA device; its public face is `grader.run.simcuda`."""
