"""A worker module whose functions do what a malicious file would make a library do."""

import os
import sys
import time
from collections.abc import Generator
from typing import Any

from bertviewer.core.util.errors import UserError
from bertviewer.core.util.sandbox import Functions


def functions() -> Functions:
    return {"echo": lambda value: value, "count": count, "run": run}


def count(stop: int, pause: float = 0) -> Generator[int, None, str]:
    for number in range(stop):
        time.sleep(pause)
        yield number
    if not stop:
        raise UserError("nothing to count")
    return "counted"


def run(code: str) -> Any:
    """Return the value of an expression, which may call the functions of this module."""
    return eval(code)


def crash(message: str) -> None:
    sys.stderr.write(message)
    sys.stderr.flush()
    os._exit(3)


def spin(seconds: float = 1e9) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass
