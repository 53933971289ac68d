"""python -m grader: grade a submission, or run one of the commands."""

from __future__ import annotations

import sys

from grader.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
