"""What the tests of the commands share."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bertviewer.app import main

Printed = Callable[..., str]


@pytest.fixture
def elsewhere(tmp_path: Path) -> Path:
    """Return an empty folder to run in: nothing may depend on the checkout as working folder."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


@pytest.fixture
def printed(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Printed:
    """Give a function that returns what a command prints, run in this process.

    A process of its own takes seconds to import torch; each command has one in another test, and
    ``report`` in those of the wheel and of a full disk.
    """

    def run(*arguments: str) -> str:
        monkeypatch.chdir(elsewhere)
        assert main(arguments) == 0
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return run
