"""Where the second text begins among a run's tokens: the other sentence, or a decoder's."""

from collections.abc import Sequence

from bertviewer.core.activations.activation_run import Token


def second_start(tokens: Sequence[Token]) -> int | None:
    """Return the first token of the second text, ``None`` where there is but one text.

    It is of segment 1, as a decoder's tokens are too; where a family has one segment for both
    sentences (RoBERTa's and GPT-2's are all 0), the text tells that it was taken from.
    """
    return next((n for n, token in enumerate(tokens) if 1 in (token.segment, token.sentence)), None)
