"""The progress line is shown on terminals only, and cleared at the end."""

import io
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, TextIO

import pytest
from msgspec import Struct

from bertviewer.app import ERROR, main
from bertviewer.cli.progress_line import progress_line
from tests.cli.conftest import Printed

END = "\x03"


class Screen(io.StringIO):
    """A terminal without a size, and the text of its last line."""

    def isatty(self) -> bool:
        return True

    def line(self) -> str:
        shown = ""
        for text in self.getvalue().split("\r"):
            shown = text + shown[len(text) :]
        return shown.rstrip()


class Terminal(Struct, frozen=True):
    """Both ends of a pseudo-terminal."""

    stream: TextIO
    other: BinaryIO

    def shown(self) -> str:
        """Return what the program has written."""
        self.stream.write(END)
        self.stream.flush()
        parts = b""
        while not parts.endswith(END.encode()):
            parts += self.other.read(1 << 16)
        return parts.decode().removesuffix(END)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb", 0) as other, os.fdopen(theirs, "w") as stream:
        yield Terminal(stream, other)


def test_the_line_is_rewritten_and_cleared() -> None:
    stream = Screen()
    with progress_line(stream) as progress:
        progress(0, 0, "Reading the tokenizer")
        assert stream.line() == "Reading the tokenizer"
        progress(1, 3, "short")
        assert stream.line() == " 33%  short"
    assert stream.line() == ""
    assert stream.getvalue().endswith("\r")
    assert "\n" not in stream.getvalue()


def test_the_same_label_is_not_rewritten_each_time() -> None:
    stream = Screen()
    with progress_line(stream) as progress:
        for done in range(1000):
            progress(done, 1_000_000, "the same")
    assert stream.getvalue().count("the same") < 500


def test_untrusted_labels_stay_on_the_line() -> None:
    stream = Screen()
    with progress_line(stream) as progress:
        progress(0, 0, "名 \x1b[2J\n" + "x" * 500)
        assert stream.line().startswith("\\u540d ")
        assert len(stream.line()) < 80
        assert stream.line().isprintable()


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_nothing_is_written_to_other_streams(stream: io.StringIO | None) -> None:
    with progress_line(stream) as progress:
        progress(0, 0, "Reading the tokenizer")
    assert stream is None or stream.getvalue() == ""


def test_a_command_on_a_terminal(
    terminal: Terminal, tiny_bert_folder: Path, printed: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("summary", tiny_bert_folder, "--format", "json")
    without = printed(*command)
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    assert printed(*command) == without
    shown = terminal.shown()
    assert "Reading the configuration" in shown
    assert "\n" not in shown
    assert shown.endswith(" \r")


def test_an_interrupted_command_clears_the_line(
    terminal: Terminal,
    tiny_bert_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("bertviewer.core.comparison.compare_models.compare_models", stop)
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    assert main(["compare", str(tiny_bert_folder), str(tiny_bert_folder)]) == 2
    shown = terminal.shown()
    assert shown.endswith(f" \r{ERROR}interrupted\r\n")
    assert capsys.readouterr().out == ""
