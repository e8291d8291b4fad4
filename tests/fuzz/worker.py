"""Works through cases in a separate process, which may die: one line for each that it reads."""

import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import TextIO

from bertviewer.core.util.errors import UserError
from tests.fuzz.targets import TARGETS, damaged_folder, sound_folder

MEMORY = 8_000_000_000
LONGEST_MESSAGE = 1000


def verdict(name: str, folder: Path) -> str:
    """Use the damaged file; return ``fine``, ``refused`` or what is wrong with the program."""
    started = time.process_time()
    try:
        TARGETS[name].use(folder)
        result = "fine"
    except UserError as error:
        message = str(error)
        plain = message.strip() and "\n" not in message and "Traceback" not in message
        short = len(message) <= LONGEST_MESSAGE
        result = "refused" if plain and short else f"a message that is not plain: {message[:300]!r}"
    except BaseException as error:  # noqa: BLE001 - it is what is looked for
        result = f"{type(error).__name__}: {str(error)[:300]!r}"
    seconds = time.process_time() - started
    return f"{seconds:.1f} s of work: {result}" if seconds > 5 else result


def main() -> None:
    """Answer each line of stdin: a target's name with ``ready``, a case's number with a verdict."""
    lines = _own_stdout()

    def say(line: str) -> None:
        lines.write(ascii(line)[1:-1] + "\n")
        lines.flush()

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with tempfile.TemporaryDirectory() as place:
        sound = Path(place) / "sound"
        sound_folder(sound)
        name = ""
        for question in map(str.strip, sys.stdin):
            if question in TARGETS:
                name = question
                # Whatever is imported late is imported before the first case is timed.
                TARGETS[name].use(sound)
                say("ready")
            else:
                damaged_folder(sound, Path(place) / "case", name, int(question))
                say(verdict(name, Path(place) / "case"))


def _own_stdout() -> TextIO:
    """Return the way to stdout, on which nobody else prints from now on: libraries in Rust do."""
    own = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return own


if __name__ == "__main__":
    main()
