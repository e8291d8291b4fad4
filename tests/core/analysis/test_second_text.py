"""Where the second text begins, whatever a family does to set it off."""

import pytest

from bertviewer.core.activations.activation_run import Token
from bertviewer.core.analysis.second_text import second_start


def tokens(*kinds: tuple[int, int | None]) -> list[Token]:
    return [Token(n, f"t{n}", segment, sentence=of) for n, (segment, of) in enumerate(kinds)]


@pytest.mark.parametrize(
    ("given", "start"),
    [
        ([(0, None), (0, 0), (0, 0), (0, None)], None),
        ([(0, None), (0, 0), (0, None), (1, 1), (1, None)], 3),  # BERT's
        ([(0, None), (0, 0), (0, None), (0, None), (0, 1), (0, None)], 4),  # RoBERTa's
        ([(0, 0), (0, 0), (0, 1)], 2),  # GPT-2's
        ([(0, 0), (0, None), (1, 1), (1, None), (2, None)], 2),  # XLNet's
        ([(0, 0), (0, None), (1, None), (1, 1)], 2),  # a decoder's begins with a token of its own
        ([], None),
    ],
)
def test_where_the_second_text_begins(
    given: list[tuple[int, int | None]], start: int | None
) -> None:
    assert second_start(tokens(*given)) == start
