"""Shows a verdict. Pure functions of the verdict and what is printed on; knows nothing of how a check decides."""
