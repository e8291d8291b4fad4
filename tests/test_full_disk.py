"""A disk that is full, a limit on files, a death in mid-write: the old file stays as it was."""

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bertviewer.app import ERROR

LIMIT = 4096
OLD = b"the report of yesterday"
ENVIRONMENT = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}
"""Python leaves half a module's bytecode where it finds no room, and fails to read it later."""


def limited() -> None:
    """Let the process write files of just so many bytes; what is longer fails as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


def program(
    folder: Path, *arguments: str, before: Callable[[], None] = limited, stdout: Path | None = None
) -> subprocess.CompletedProcess[str]:
    with (stdout or Path(os.devnull)).open("w") as results:
        return subprocess.run(
            [sys.executable, "-m", "bertviewer", *arguments],
            cwd=folder,
            env=ENVIRONMENT,
            preexec_fn=before,
            stdout=results,
            stderr=subprocess.PIPE,
            text=True,
            timeout=300,
            check=False,
        )


def test_a_report_that_finds_no_room(tmp_path: Path) -> None:
    old = tmp_path / "report.pdf"
    old.write_bytes(OLD)
    done = program(
        tmp_path, "report", "bert-base-uncased", "-o", "report.pdf", "--sections", "modules"
    )
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{ERROR}cannot write ")
    assert line.endswith(": File too large")
    assert old.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [old]


def test_a_file_that_finds_no_room(tmp_path: Path) -> None:
    old = tmp_path / "report.pdf"
    old.write_bytes(OLD)
    code = f"""
import pathlib
from bertviewer.core.util.errors import UserError
from bertviewer.core.saving.atomic_files import write_atomically
try:
    write_atomically(pathlib.Path("report.pdf"), b"x" * {LIMIT + 1})
except UserError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=ENVIRONMENT,
        preexec_fn=limited,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout == f"cannot write {old}: File too large\n"
    assert old.read_bytes() == OLD
    assert list(tmp_path.iterdir()) == [old]


def test_results_that_find_no_room(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    arguments = ("summary", "bert-base-uncased", "--format", "json")
    done = program(tmp_path, *arguments, stdout=results)
    assert (done.returncode, done.stderr) == (
        2,
        f"{ERROR}cannot write the result: File too large\n",
    )
    assert results.stat().st_size <= LIMIT


@pytest.mark.parametrize("moment", ["os.fsync", "pathlib.Path.replace"])
def test_a_death_in_mid_write(tmp_path: Path, moment: str) -> None:
    old = tmp_path / "report.pdf"
    old.write_bytes(OLD)
    code = f"""
import os, pathlib, signal
from bertviewer.core.saving.atomic_files import write_atomically
{moment} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
write_atomically(pathlib.Path("report.pdf"), b"new" * 10000)
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, timeout=300, check=False)
    assert done.returncode == -signal.SIGKILL
    assert old.read_bytes() == OLD
