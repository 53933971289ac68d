"""The grader of the PyTorch debugging course: run a submission, gather evidence, judge it, report."""
