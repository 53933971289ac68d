"""Test the ends of the declared range: `nox -s lowest` (each dependency at its lower bound) and `nox -s latest`."""

from __future__ import annotations

import nox
from packaging.requirements import Requirement

nox.options.sessions = ["lowest", "latest"]
nox.options.stop_on_first_error = False


def lower_bounds() -> list[str]:
    """The dependencies of pyproject.toml, each pinned to the version after its `>=`, so that what is tested is what is declared."""
    pins = []
    for text in nox.project.load_toml("pyproject.toml")["project"]["dependencies"]:
        requirement = Requirement(text)
        bounds = [bound.version for bound in requirement.specifier if bound.operator == ">="]
        if len(bounds) != 1:
            raise SystemExit(f"pyproject.toml: give {requirement.name} one lower bound, `{requirement.name}>=VERSION`; it has {len(bounds)}")
        marker = f"; {requirement.marker}" if requirement.marker else ""
        pins.append(f"{requirement.name}=={bounds[0]}{marker}")
    return pins


@nox.session(python="3.11")
def lowest(session: nox.Session) -> None:
    """Run the tests with every dependency at its declared lower bound."""
    session.install("-e", ".[test]", *lower_bounds())
    session.run("pytest", *session.posargs)


@nox.session
def latest(session: nox.Session) -> None:
    """Run the tests with the newest releases that the declared ranges admit."""
    session.install("--upgrade", "-e", ".[test]")
    session.run("pytest", *session.posargs)
