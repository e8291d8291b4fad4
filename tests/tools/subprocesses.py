"""Starts other programs for tests, with a time limit and their output in the failure."""

import subprocess
from collections.abc import Mapping
from pathlib import Path


def output_of(
    command: list[str | Path],
    folder: Path,
    environment: Mapping[str, str] | None = None,
    timeout: float = 600.0,
) -> str:
    """Run a command in a folder and return what it prints; it must end well.

    Raises:
        AssertionError: its exit status is not 0; the message has all that it said.
    """
    result = subprocess.run(
        list(map(str, command)),
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=timeout,
        check=False,
    )
    if result.returncode:
        words = " ".join(map(str, command))
        raise AssertionError(f"{words}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout
