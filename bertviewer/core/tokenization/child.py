"""The process that reads tokenizers: takes requests a line each, and answers them, as JSON.

Whatever a stranger's tokenizer makes transformers, tokenizers or SentencePiece do, it does it here,
within limits of memory and time, and without network, programs or other files.
"""

import json
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from bertviewer.core.tokenization import TOO_MUCH
from bertviewer.core.util.child_process import (
    ForbiddenError,
    forbid,
    forbid_reading,
    limit_memory,
    limit_seconds,
)
from bertviewer.core.util.errors import UserError, describe_error

ROOM = 3_000_000_000
"""Bytes of memory beside what the libraries take: a vocabulary of 250,000 needs one sixth."""
READY = b"ready\n"


def main(arguments: list[str]) -> int:
    """Answer requests until there are no more.

    The arguments are the folder that the copies lie in, and the seconds of work for a request.
    """
    folder, seconds = Path(arguments[0]), int(arguments[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever asks is told of it, and ends this
    # What a library prints is no answer.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0), "rb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    # Tokenizers do without it, and it takes seconds to import; transformers says that it misses it.
    sys.modules["torch"] = None  # type: ignore[assignment]
    logging.getLogger("transformers").setLevel(logging.CRITICAL)
    from bertviewer.core.tokenization import reading  # before the limits: imports look about

    limit_memory(ROOM)
    sys.addaudithook(forbid)
    forbid_reading([folder])
    answers.write(READY)
    answers.flush()
    server = _Server(reading)
    for line in requests:
        limit_seconds(seconds)
        answers.write(json.dumps(server.answer(json.loads(line))).encode() + b"\n")
        answers.flush()
    with suppress(OSError):
        folder.rmdir()  # whoever asked may have been killed
    return 0


class _Server:
    """Holds the tokenizers that were opened, by the numbers that they were given."""

    def __init__(self, reading: Any) -> None:
        self._reading = reading
        self._tokenizers: dict[int, Any] = {}

    def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a request, or why there is none."""
        for number in request["forgotten"]:
            self._tokenizers.pop(number, None)
        action: Callable[[dict[str, Any]], Any] = {
            "open": self._open,
            "read": self._read,
            "ids": self._ids,
            "names": self._names,
        }[request["do"]]
        try:
            return {"answer": action(request)}
        except UserError as error:
            return {"refusal": str(error)}
        except MemoryError:
            return {"refusal": TOO_MUCH}
        except ForbiddenError as error:
            return {"refusal": f"it tried to do something tokenizers never need ({error})"}
        except BaseException as error:  # noqa: BLE001 - libraries raise what they like, and panic
            return {"refusal": describe_error(error)}

    def _open(self, request: dict[str, Any]) -> dict[str, Any]:
        tokenizer, is_bert = self._reading.read_tokenizer(
            Path(request["folder"]), request["config"], is_own_code=request["is_own_code"]
        )
        self._tokenizers[request["number"]] = tokenizer
        return {
            "unknown": self._reading.unknown_id(tokenizer),
            "special": self._reading.special_ids(tokenizer),
            "is_bert": is_bert,
            "keeps_end": tokenizer.truncation_side == "left",
        }

    def _read(self, request: dict[str, Any]) -> Any:
        return self._reading.read_texts(self._tokenizers[request["number"]], request["texts"])

    def _ids(self, request: dict[str, Any]) -> Any:
        return self._reading.read_ids(self._tokenizers[request["number"]], request["texts"])

    def _names(self, request: dict[str, Any]) -> Any:
        return self._reading.names_by_id(self._tokenizers[request["number"]])
