"""Counts the tokens of what is typed: work for a worker."""

from typing import TYPE_CHECKING

from bertviewer.core.activations.activation_run import Sentence
from bertviewer.core.activations.token_count import TokenCount
from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.errors import UserError
from bertviewer.core.progress import Progress
from bertviewer.core.source.model_source import ModelSource
from bertviewer.core.system import libraries

if TYPE_CHECKING:
    from bertviewer.core.tokenizer.tokenization import Tokenizer


class Counting:
    """Counts for one open model, with a tokenizer of its own: the model's is another thread's.

    The tokenizer is read when there is something to count. Only the worker's thread may count.
    """

    def __init__(self, source: ModelSource, architecture: Architecture) -> None:
        self._source = source
        self._architecture = architecture
        self._tokenizer: Tokenizer | None = None
        self._has_none = False

    def count(self, sentence: Sentence, progress: Progress) -> TokenCount | None:
        """Return the sentence's count; ``None`` where there is none, as for a bad text.

        Why that is, a run says; nobody wants to hear it while typing.
        """
        libraries.load(progress)
        from bertviewer.core.tokenizer import tokenization

        progress(0, 0, "Counting tokens")
        config = self._architecture.config
        if self._tokenizer is None and not self._has_none:
            try:
                if tokenization.reads_text(self._architecture):
                    self._tokenizer = tokenization.find_tokenizer(self._source, config, progress)
            except UserError:
                pass  # a model without a tokenizer
            self._has_none = self._tokenizer is None
        if self._tokenizer is None:
            return None
        try:
            return tokenization.count_tokens(self._tokenizer, sentence, config, progress)
        except UserError:
            return None
