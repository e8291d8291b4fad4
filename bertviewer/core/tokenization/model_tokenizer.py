"""The tokenizer in a model's folder, which transformers reads in a helper process."""

import tempfile
import weakref
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

from msgspec import ValidationError, convert
from msgspec.structs import replace

from bertviewer.core.schema.activation_run import Token
from bertviewer.core.sources.configuration import segment_rows
from bertviewer.core.sources.length_limits import FindLimits
from bertviewer.core.tokenization import worker
from bertviewer.core.tokenization.private_copy import write_private_copy
from bertviewer.core.tokenization.tokenizer import Tokenizer
from bertviewer.core.tokenization.tokens import EncodedText, TokenIds
from bertviewer.core.util.errors import UserError, error_reason
from bertviewer.core.util.helper_process import Helper, HelperProcess
from bertviewer.core.util.progress import Progress, no_progress

MEMORY = 3_000_000_000
"""Bytes for the helper process; a vocabulary of 250,000 tokens needs a sixth of it."""
SECONDS = 60
"""CPU time for a call."""

_LOADING = "Loading tokenizer"
_READING = "Reading the text"


class TokenizerHelper(Helper):
    """The helper process that all tokenizers share.

    Attributes:
        numbers: gives each tokenizer a number, by which the process knows it.
        closed: numbers of tokenizers that it need not keep.
    """

    def __init__(self) -> None:
        super().__init__(
            lambda: HelperProcess(worker.__name__, memory=MEMORY, seconds=SECONDS), _LOADING
        )
        self.numbers = count()
        self.closed: list[int] = []


@cache
def tokenizer_helper() -> TokenizerHelper:
    """Return the process that all tokenizers share."""
    return TokenizerHelper()


class ModelTokenizer(Tokenizer):
    """The tokenizer that the model was trained with.

    If the helper process ends, the next one loads it again.
    """

    def __init__(
        self,
        folder: Path,
        config: Mapping[str, Any] | None = None,
        progress: Progress = no_progress,
        limits: FindLimits | None = None,
        *,
        pair_is_target: bool = False,
    ) -> None:
        """Load the tokenizer; see ``Tokenizer`` for the arguments.

        Raises:
            UserError: its files are broken, or not allowed.
            Cancelled: by ``progress``.
        """
        self._config = config or {}
        super().__init__(self._config, limits, pair_is_target=pair_is_target)
        self._folder = folder
        # A model with one kind of segments gets segment 0, whatever the tokenizer returns. So does
        # an encoder: segment 1 is the decoder's.
        has_one = bool(config) and segment_rows(self._config) < 2
        self._has_segments = not (has_one or self._config.get("is_encoder_decoder"))
        self._number = next(tokenizer_helper().numbers)
        self._process: HelperProcess | None = None
        self._vocabulary: dict[int, str] | None = None
        weakref.finalize(self, tokenizer_helper().closed.append, self._number)
        with tokenizer_helper().session(progress) as process:
            self._load(process, progress)

    def _encode(
        self, texts: Sequence[str], stack: int | None, progress: Progress
    ) -> Sequence[Token]:
        try:
            answer = self._call("tokens", {"texts": texts}, progress, _READING)
        except UserError as error:
            raise UserError(f"the tokenizer cannot read this text: {error}") from error
        try:
            tokens = convert(answer, list[Token])
        except ValidationError as error:  # an id of 32 bits, for example
            raise UserError(f"the tokenizer returns an invalid token: {error}") from error
        if stack is not None:
            return [
                replace(token, segment=stack, sentence=None if token.sentence is None else stack)
                for token in tokens
            ]
        if not self._has_segments:
            return [replace(token, segment=0) for token in tokens]
        return tokens

    def encode_each(
        self, texts: Sequence[str], progress: Progress = no_progress
    ) -> list[EncodedText]:
        """Return the tokens of each text alone, or why it cannot be read."""
        answer = self._call("ids", {"texts": texts}, progress, _READING)
        return [one if isinstance(one, str) else self._token_ids(*one) for one in answer]

    def _token_ids(
        self, ids: list[int], segments: list[int], special: list[bool], added: list[bool]
    ) -> TokenIds:
        own = segments if self._has_segments else [0] * len(ids)
        return TokenIds(tuple(ids), tuple(own), tuple(special), tuple(added))

    def text_of(self, number: int) -> str:
        """Return how the vocabulary writes the token with that id, "#id" if it has none."""
        if self._vocabulary is None:
            answer = self._call("vocabulary", {}, no_progress, "Reading the vocabulary")
            self._vocabulary = dict(answer)
        # Embeddings often have more rows than the vocabulary has tokens.
        return self._vocabulary.get(number, f"#{number}")

    def _load(self, process: HelperProcess, progress: Progress) -> None:
        """Load it in the helper process, from a copy in the process's folder."""
        helper = tokenizer_helper()
        closed = list(helper.closed)
        try:
            place = tempfile.TemporaryDirectory(dir=process.folder, ignore_cleanup_errors=True)
            with place as copy:
                has_code = write_private_copy(self._folder, self._config, Path(copy))
                arguments = {
                    "number": self._number,
                    "folder": copy,
                    "has_code": has_code,
                    "closed": closed,
                }
                try:
                    answer = process.call("load", arguments, progress, "Reading the tokenizer")
                except UserError as error:
                    said = str(error).replace(copy, str(self._folder))
                    raise UserError(
                        f"{self._folder}: the tokenizer cannot be read: {said}"
                    ) from error
        except OSError as error:
            raise UserError(f"tokenizers cannot be read: {error_reason(error)}") from error
        del helper.closed[: len(closed)]
        self._process = process
        self.kind = "bert" if answer["is_bert"] else "model"
        self.keeps_end = answer["keeps_end"]
        self.favors_first = not answer["is_fast"]

    def _call(
        self, function: str, arguments: Mapping[str, Any], progress: Progress, label: str
    ) -> Any:
        with tokenizer_helper().session(progress) as process:
            if self._process is not process:
                self._load(process, progress)
            return process.call(function, {**arguments, "number": self._number}, progress, label)
