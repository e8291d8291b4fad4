"""The worker of the helper process: damages a file, uses it, and returns the verdict."""

import time
from pathlib import Path

from bertviewer.core.util.errors import UserError
from bertviewer.core.util.sandbox import Functions
from tests.fuzz.targets import TARGETS, write_damaged_folder, write_valid_folder

MAX_MESSAGE = 1000
MAX_SECONDS = 5
"""CPU time of a case."""


def functions() -> Functions:
    """Return what the helper process can do, after writing the valid files."""
    valid = Path.cwd() / "valid"
    write_valid_folder(valid)
    used: set[str] = set()

    def try_case(target: str, number: int) -> str:
        if target not in used:  # the imports of the first case do not count
            used.add(target)
            TARGETS[target].use(valid)
        folder = Path.cwd() / "case"
        write_damaged_folder(valid, folder, target, number)
        return verdict(target, folder)

    return {"try_case": try_case}


def verdict(target: str, folder: Path) -> str:
    """Use the damaged file; return "fine", "refused", or what is wrong with the program."""
    start = time.process_time()
    try:
        TARGETS[target].use(folder)
        result = "fine"
    except UserError as error:
        message = str(error)
        is_plain = message.strip() and "\n" not in message and "Traceback" not in message
        is_short = len(message) <= MAX_MESSAGE
        result = "refused" if is_plain and is_short else f"not a plain message: {message[:300]!r}"
    except BaseException as error:  # noqa: BLE001 - this is what the fuzzer looks for
        result = f"{type(error).__name__}: {str(error)[:300]!r}"
    seconds = time.process_time() - start
    return f"{seconds:.1f} s: {result}" if seconds > MAX_SECONDS else result
