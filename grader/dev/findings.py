"""What `dev check` refuses: a place, what is wrong there, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One refusal.

    lesson: its name, '' for the course as a whole; where: a path relative to the course's folder, with a line if one is meant;
    problem: what is the matter, with its numbers; remedy: what to do.
    """

    lesson: str
    where: str
    problem: str
    remedy: str

    def __str__(self) -> str:
        """Where: what. Remedy."""
        return f"{self.where}: {self.problem}\n    {self.remedy}"
