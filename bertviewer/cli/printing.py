"""Results on the standard output, whatever characters it can hold."""

import io
import json
import sys
from typing import Any

from bertviewer.core.util.errors import UserError
from bertviewer.core.util.text import printable, printable_json


def print_json(document: dict[str, Any]) -> None:
    """Print a document.

    Raises:
        UserError: there is no standard output.
    """
    # Escapes of JSON where the output could not hold the characters themselves.
    is_unicode = (getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
    text = json.dumps(document, indent=2, ensure_ascii=not is_unicode, allow_nan=False)
    _write("\n".join(map(printable_json, text.split("\n"))))


def print_text(text: str) -> None:
    """Print lines of text.

    Raises:
        UserError: there is no standard output.
    """
    # Whatever the texts of strangers hold: nothing of it moves a terminal's cursor.
    _write("\n".join(map(printable, text.split("\n"))))


def print_bytes(data: bytes) -> None:
    """Write what is no text, into a file or a pipe.

    Raises:
        UserError: there is no standard output, or somebody would have to read it.
    """
    check_takes_bytes()
    sys.stdout.flush()
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def check_takes_bytes() -> None:
    """Check that what is no text can be written, before the seconds that it takes to make.

    Raises:
        UserError: as of ``print_bytes``.
    """
    if sys.stdout is None:
        raise UserError("cannot write the result: the standard output is closed")
    if sys.stdout.isatty():
        raise UserError("a PDF cannot be shown in a terminal; redirect it to a file: … > flow.pdf")


def _write(text: str) -> None:
    if sys.stdout is None:
        raise UserError("cannot write the result: the standard output is closed")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A result may hold any character of any vocabulary; a terminal's encoding may not.
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout.write(text + "\n")
    sys.stdout.flush()
