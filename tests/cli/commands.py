"""Runs the program in a separate process."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]


def bertviewer(
    folder: Path,
    *arguments: str,
    python: tuple[str, ...] = (),
    environment: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    return python_of(folder, *python, "-m", "bertviewer", *arguments, environment=environment)


def python_of(
    folder: Path, *arguments: str, environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python in a folder, with the program to import."""
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **(environment or {})},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )


def shell(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command line of bash in which ``bertviewer`` is the program."""
    program = f"'{sys.executable}' -m bertviewer"
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command.replace("bertviewer", program)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
