"""The line that says how far a command is: on a terminal alone, and gone at the end."""

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
    """A terminal of no size, and what stands on its last line."""

    def isatty(self) -> bool:
        return True

    def line(self) -> str:
        shown = ""
        for text in self.getvalue().split("\r"):
            shown = text + shown[len(text) :]
        return shown.rstrip()


class Terminal(Struct, frozen=True):
    """A real terminal: the program's end of it, and what has come out at the other one."""

    stream: TextIO
    other: BinaryIO

    def shown(self) -> str:
        """Return what has been written; nothing comes after it."""
        self.stream.write(END)
        self.stream.flush()
        parts = b""
        # A terminal hands over a piece at a time, when it gets to it.
        while not parts.endswith(END.encode()):
            parts += self.other.read(1 << 16)
        return parts.decode().removesuffix(END)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    ours, theirs = os.openpty()
    with os.fdopen(ours, "rb", 0) as other, os.fdopen(theirs, "w") as stream:
        yield Terminal(stream, other)


def test_what_is_done_is_said_in_place() -> None:
    stream = Screen()
    with progress_line(stream) as progress:
        progress(0, 0, "Reading the tokenizer")
        assert stream.line() == "Reading the tokenizer"
        progress(1, 3, "short")
        assert stream.line() == " 33%  short"
    assert stream.line() == ""
    assert stream.getvalue().endswith("\r")
    assert "\n" not in stream.getvalue()


def test_a_step_of_one_name_is_told_of_now_and_then() -> None:
    stream = Screen()
    with progress_line(stream) as progress:
        for done in range(1000):
            progress(done, 1_000_000, "the same")
    assert stream.getvalue().count("the same") < 500


def test_names_of_strangers_stay_on_the_line() -> None:
    stream = Screen()
    with progress_line(stream) as progress:
        progress(0, 0, "名 \x1b[2J\n" + "x" * 500)
        assert stream.line().startswith("\\u540d ")
        assert len(stream.line()) < 80
        assert stream.line().isprintable()


@pytest.mark.parametrize("stream", [io.StringIO(), None])
def test_nothing_is_said_elsewhere(stream: io.StringIO | None) -> None:
    with progress_line(stream) as progress:
        progress(0, 0, "Reading the tokenizer")
    assert stream is None or stream.getvalue() == ""


@pytest.mark.parametrize(
    "arguments",
    [("summary", "--format", "json"), ("run", "the cat", "--check"), ("report", "-o", "out.pdf")],
    ids=lambda arguments: arguments[0],
)
def test_a_command_on_a_terminal(
    arguments: tuple[str, ...],
    terminal: Terminal,
    tiny_bert_folder: Path,
    printed: Printed,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    command = [arguments[0], str(tiny_bert_folder), *arguments[1:]]
    without = printed(*command)  # and nothing on stderr
    monkeypatch.setattr(sys, "stderr", terminal.stream)
    found = printed(*command)
    shown = terminal.shown()
    assert "Reading the configuration" in shown
    assert "\n" not in shown
    assert shown.endswith(" \r")
    if arguments[0] != "run":  # which says how long it took
        assert found == without


def test_stopped_by_the_keyboard(
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
