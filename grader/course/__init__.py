"""Finds the course and its lessons, and validates what they declare. Standard library only; knows nothing of how a submission is judged."""

from grader.course.catalogue import Course
from grader.course.checks import load_checks
from grader.course.errors import CourseError, UnknownLessonError
from grader.course.lesson import Budget, Lesson

__all__ = ["Budget", "Course", "CourseError", "Lesson", "UnknownLessonError", "load_checks"]
