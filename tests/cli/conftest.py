"""Runs commands in this process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bertviewer.app import ERROR, main

Printed = Callable[..., str]


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working directory: no command may depend on the checkout."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def printed(elsewhere: Path, capfd: pytest.CaptureFixture[str]) -> Printed:
    """Return a function that runs a command and returns its output; nothing else is printed."""

    def run(*arguments: str | Path) -> str:
        assert main([*map(str, arguments)]) == 0
        out, err = capfd.readouterr()
        assert err == ""
        return out

    return run


@pytest.fixture
def refused(elsewhere: Path, capfd: pytest.CaptureFixture[str]) -> Printed:
    """Return a function that runs a command that fails, and returns the line of its error."""

    def run(*arguments: str | Path) -> str:
        assert main([*map(str, arguments)]) == 2
        out, err = capfd.readouterr()
        assert out == ""
        (line,) = err.splitlines()
        assert line.startswith(ERROR)
        return line.removeprefix(ERROR)

    return run


@pytest.fixture(scope="package")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file with three sentences and an empty line."""
    file = tmp_path_factory.mktemp("data") / "lines.txt"
    file.write_text("this is a test\nthe cat sat on the mat\n\nthis\n", encoding="utf-8")
    return file
