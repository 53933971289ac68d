"""The command line: commands and exit codes. Imports neither torch nor matplotlib, and numpy or rich only where something is graded."""
