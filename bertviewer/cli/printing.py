"""Writes results to stdout, for any encoding of the terminal."""

import io
import json
import sys
from typing import Any

from bertviewer.core.util.errors import UserError
from bertviewer.core.util.text import printable, printable_json


def print_json(document: dict[str, Any]) -> None:
    """Print a JSON document.

    Raises:
        UserError: stdout is closed.
    """
    # JSON escapes if the encoding lacks the characters.
    is_unicode = (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
    text = json.dumps(document, indent=2, ensure_ascii=not is_unicode, allow_nan=False)
    _write("\n".join(map(printable_json, text.split("\n"))))


def print_text(text: str) -> None:
    """Print lines of text; control characters are escaped.

    Raises:
        UserError: stdout is closed.
    """
    _write("\n".join(map(printable, text.split("\n"))))


def print_bytes(data: bytes) -> None:
    """Write binary data to a file or a pipe.

    Raises:
        UserError: stdout is closed or a terminal.
    """
    check_takes_bytes()
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def check_takes_bytes() -> None:
    """Check that stdout takes binary data.

    Raises:
        UserError: as for ``print_bytes``.
    """
    if sys.stdout is None:
        raise UserError("cannot write the result: the standard output is closed")
    if sys.stdout.isatty():
        raise UserError("a PDF cannot be shown in a terminal; redirect it to a file: … > flow.pdf")


def _write(text: str) -> None:
    if sys.stdout is None:
        raise UserError("cannot write the result: the standard output is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A vocabulary may have characters that the terminal's encoding lacks.
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
