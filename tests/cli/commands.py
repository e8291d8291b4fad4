"""Runs the program as other programs do, in a separate process."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
SENTENCE = "this is a 12212121 test sentence"


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


def output_of(folder: Path, *arguments: str) -> str:
    result = bertviewer(folder, *arguments)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def error_of(folder: Path, *arguments: str) -> str:
    """Run what must fail and return the error's one line, without its beginning."""
    result = bertviewer(folder, *arguments)
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("bertviewer: error: ")
    return line.removeprefix("bertviewer: error: ")
