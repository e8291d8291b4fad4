"""JSON in files: read within limits, and written as valid Unicode."""

import json
from typing import Any

MOST_CONTAINERS = 3_000_000
"""Objects and arrays of a document; the largest tokenizers have 0.6 million.

24 MB of empty arrays take 1 GB of memory, and seconds in which no other thread runs.
"""


def loads(text: str | bytes, **options: Any) -> Any:
    """Return the value of a JSON document that is small enough to be in memory.

    Args:
        text: the document; its size is bounded already.
        options: those of ``json.loads``.

    Raises:
        ValueError: it is no JSON, or has too many objects and arrays.
        RecursionError: it is nested too deeply.
    """
    check_containers(text)
    return json.loads(text, **options)


def check_containers(text: str | bytes) -> None:
    """Raise ``ValueError`` for a document with more than ``MOST_CONTAINERS`` objects and arrays."""
    count = (
        text.count("[") + text.count("{")
        if isinstance(text, str)
        else text.count(b"[") + text.count(b"{")
    )
    if count > MOST_CONTAINERS:
        raise ValueError(f"it has more than {MOST_CONTAINERS:,} objects and arrays")


def dumps(data: Any, **options: Any) -> bytes:
    """Return data as a JSON document that ``loads`` takes.

    Names of files that are not UTF-8 hold lone surrogates, which no reader takes: each becomes a
    question mark. ``options`` are those of ``json.dumps``.
    """
    return json.dumps(data, ensure_ascii=False, **options).encode("utf-8", "replace")
