"""A worker module: does in a helper process what a malicious file would make a library do."""

import os
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

from bertviewer.core.util.errors import UserError
from bertviewer.core.util.sandbox import Functions


def functions() -> Functions:
    return {
        "echo": lambda value: value,
        "pid": os.getpid,
        "count": count,
        "refuse": refuse,
        "exit": leave,
        "die": die,
        "allocate": lambda nbytes: len(bytearray(nbytes)),
        "spin": spin,
        "sleep": lambda: time.sleep(60),
        "read": lambda path: Path(path).read_text(),
        "run": lambda code: repr(eval(code)),
    }


def count(stop: int, pause: float = 0) -> Generator[int, None, str]:
    for number in range(stop):
        time.sleep(pause)
        yield number
    if not stop:
        raise UserError("nothing to count")
    return "counted"


def refuse(message: str) -> None:
    raise UserError(message)


def leave(message: str) -> None:
    sys.exit(message)


def die(message: str) -> None:
    sys.stderr.write(message)
    sys.stderr.flush()
    os._exit(3)


def spin(seconds: float = 1e9) -> Any:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
