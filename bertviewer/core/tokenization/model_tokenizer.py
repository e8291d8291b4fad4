"""The tokenizer in a model's folder, read by transformers in a process of its own."""

import tempfile
import weakref
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from bertviewer.core.schema.activation_run import Sentence, Token, TokenizerKind
from bertviewer.core.sources.configuration import segment_kinds
from bertviewer.core.sources.length_limits import FindLimits, stated_limits
from bertviewer.core.tokenization.pieces import Piece, joined
from bertviewer.core.tokenization.private_copy import tokenizer_config_of, write_private_copy
from bertviewer.core.tokenization.process import Child, DiedError, tokenizer_process
from bertviewer.core.tokenization.token_ids import Read, TokenIds
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress, no_progress

_OPENING = "Reading the tokenizer"
_READING = "Reading the text"
_NAMING = "Reading the vocabulary"
_numbers = count()


class ModelTokenizer:
    """Turns sentences into the tokens that the model was trained on. Of one thread only.

    Should the process that reads it end, it is read again by the next one.
    """

    kind: TokenizerKind
    keeps_end: bool

    def __init__(
        self,
        folder: Path,
        config: Mapping[str, Any] | None = None,
        progress: Progress = no_progress,
        limits: FindLimits | None = None,
        *,
        reads_apart: bool = False,
    ) -> None:
        """Load it; the model's configuration tells whether it has a decoder.

        ``limits`` finds the lengths that texts are cut to; without it they are those that the
        configuration names. ``reads_apart`` says that a second sentence is for the decoder.

        Raises:
            UserError: its files are broken, or say what they may not.
            Cancelled: by ``progress``.
        """
        self._folder = folder
        self._config = config or {}
        self._limits = limits or partial(stated_limits, self._config)
        self._reads_apart = reads_apart
        # Whatever the encoder reads is segment 0: segment 1 is the decoder's.
        # A model that does not tell segments apart is given 0, whatever the tokenizer says.
        is_one = bool(config) and segment_kinds(self._config) < 2
        self._segment = 0 if is_one or self._config.get("is_encoder_decoder") else None
        self.number = next(_numbers)
        """What the child knows it by."""
        self._child: weakref.ref[Child] | None = None
        self._unknown: int | None = None
        self._special: frozenset[int] = frozenset()
        self._names: dict[int, str] | None = None
        with tokenizer_process().turn(progress) as child:
            self._open(child, progress)

    def tokenize(self, sentence: Sentence, progress: Progress = no_progress) -> tuple[Token, ...]:
        """Return the tokens, special ones included, cut to the limit if the sentence asks for it.

        A decoder that reads the second sentence has it tokenized alone, and as segment 1.

        Raises:
            UserError: the tokenizer cannot read the text, or the limit leaves no room for it.
            Cancelled: by ``progress``.
        """
        texts = [text for text in (sentence.text, sentence.pair) if text is not None]
        if self._reads_apart:
            parts = [self._pieces([text], place, progress) for place, text in enumerate(texts)]
        else:
            parts = [self._pieces(texts, self._segment, progress)]
        limits = self._limits() if sentence.cut else None
        return joined(parts, limits, keeps_end=self.keeps_end)

    def ids_of(self, texts: Sequence[str], progress: Progress = no_progress) -> list[Read]:
        """Return the tokens of each text alone, or why it cannot be read.

        Raises:
            Cancelled: by ``progress``.
        """
        found = self._ask({"do": "ids", "texts": texts}, progress, _READING)
        return [one if isinstance(one, str) else self._token_ids(*one) for one in found]

    def text_of(self, number: int) -> str:
        """Return the token of that id as the vocabulary writes it, "#id" if it has none."""
        if self._names is None:
            self._names = dict(self._ask({"do": "names"}, no_progress, _NAMING))
        # Embeddings often have more rows than the vocabulary has tokens.
        return self._names.get(number, f"#{number}")

    def _open(self, child: Child, progress: Progress) -> None:
        """Have a child read it."""
        problem = f"{self._folder}: the tokenizer cannot be read"
        place = tempfile.TemporaryDirectory(dir=child.folder, ignore_cleanup_errors=True)
        with place as copy:
            own_code = write_private_copy(self._folder, self._config, Path(copy))
            request = {
                "do": "open",
                "number": self.number,
                "folder": copy,
                "config": tokenizer_config_of(self._config),
                "is_own_code": own_code,
            }
            try:
                opened = child.ask(request, progress, _OPENING)
            except (UserError, DiedError) as error:
                said = str(error).replace(copy, str(self._folder))
                raise type(error)(f"{problem}: {said}") from error
        self._child = weakref.ref(child)
        weakref.finalize(self, child.forget, self.number)
        self.kind = "bert" if opened["is_bert"] else "model"
        self.keeps_end = bool(opened["keeps_end"])
        self._unknown, self._special = opened["unknown"], frozenset(opened["special"])

    def _ask(self, request: Mapping[str, Any], progress: Progress, label: str) -> Any:
        with tokenizer_process().turn(progress) as child:
            if self._child is None or self._child() is not child:
                self._open(child, progress)
            return child.ask({**request, "number": self.number}, progress, label)

    def _pieces(self, texts: Sequence[str], segment: int | None, progress: Progress) -> list[Piece]:
        """Tokenize texts together; ``segment`` is theirs, ``None`` if the tokenizer tells them."""
        try:
            read = self._ask({"do": "read", "texts": texts}, progress, _READING)
        except UserError as error:
            raise UserError(f"the tokenizer cannot read this text: {error}") from error
        return [
            Piece(
                self._token(number, name, own if segment is None else segment, place, written),
                place,
                starts,
            )
            for number, name, own, place, starts, written in read
        ]

    def _token_ids(self, ids: list[int], segments: list[int], added: list[int]) -> TokenIds:
        are_special = (
            bool(is_added) or (number in self._special and number != self._unknown)
            for number, is_added in zip(ids, added, strict=True)
        )
        own = segments if self._segment is None else [self._segment] * len(ids)
        return TokenIds(tuple(ids), tuple(own), tuple(are_special), tuple(map(bool, added)))

    def _token(
        self, number: int, name: str, segment: int, sentence: int | None, written: str
    ) -> Token:
        # One that was typed by its name is nothing unknown; nor is GPT-2's end of text, which is
        # its unknown token too.
        is_text = sentence is not None
        is_unknown = is_text and number == self._unknown and written != name
        is_special = not is_text or (number in self._special and not is_unknown)
        if sentence is not None and self._reads_apart:
            sentence = segment  # it was tokenized alone
        return Token(number, name, segment, None, is_special, is_unknown, written, sentence)
