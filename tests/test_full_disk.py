"""A full disk, a file size limit or a killed process leave the old file unchanged."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bertviewer.app import ERROR

LIMIT = 4096
OLD = b"the old report"
# Python would leave truncated bytecode, and fail to read it later.
ENVIRONMENT = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}


def limit_file_size() -> None:
    """Make writing more than ``LIMIT`` bytes to a file fail, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


def run_limited(
    folder: Path, *arguments: str, stdout: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """Run Python with a limit of the file size."""
    with (stdout or Path(os.devnull)).open("w") as results:
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            env=ENVIRONMENT,
            preexec_fn=limit_file_size,
            stdout=results,
            stderr=subprocess.PIPE,
            text=True,
            timeout=300,
            check=False,
        )


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """Return an old report, which must not change."""
    path = tmp_path / "report.pdf"
    path.write_bytes(OLD)
    return path


def test_a_report(old: Path) -> None:
    command = ("report", "bert-base-uncased", "-o", "report.pdf", "--sections", "modules")
    done = run_limited(old.parent, "-m", "bertviewer", *command)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"{ERROR}cannot write ")
    assert line.endswith(": File too large")
    assert old.read_bytes() == OLD
    assert list(old.parent.iterdir()) == [old]


def test_the_output_of_a_command(tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    command = ("-m", "bertviewer", "summary", "bert-base-uncased", "--format", "json")
    done = run_limited(tmp_path, *command, stdout=results)
    message = f"{ERROR}cannot write the result: File too large\n"
    assert (done.returncode, done.stderr) == (2, message)
    assert results.stat().st_size <= LIMIT


@pytest.mark.parametrize("moment", ["os.fsync", "pathlib.Path.replace"])
def test_a_process_that_is_killed_while_writing(old: Path, moment: str) -> None:
    code = f"""
import os, pathlib, signal
from bertviewer.core.saving.atomic_files import write_atomically
{moment} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
write_atomically(pathlib.Path("report.pdf"), b"new" * 10000)
"""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=old.parent, timeout=300, check=False)
    assert done.returncode == -signal.SIGKILL
    assert old.read_bytes() == OLD
