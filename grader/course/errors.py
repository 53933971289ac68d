"""What can go wrong on the way to a lesson: our own files are wrong, or there is no such lesson."""

from __future__ import annotations


class CourseError(Exception):
    """The course's own files are at fault. The message names the file, the key and the remedy."""


class UnknownLessonError(Exception):
    """Nobody has written that lesson. The message lists those that exist, with a close match first."""
