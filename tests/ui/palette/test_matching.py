"""Which texts match a query, and which match better."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.ui.palette.matching import Match, folded, match, words_of

WORDS = st.text("abcß.İ3_", min_size=1, max_size=4)
TEXTS = st.text("aAbBcC.3_ ßİ", max_size=12)


def score_of(query: str, text: str) -> int:
    return (match(words_of(query), text) or Match(0, ())).score


def is_subsequence(word: str, text: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in word)


def best_by_trying(word: str, text: str) -> int:
    """Try all positions: 8 for a letter that begins a word or follows, 1 for others, -3 per gap."""
    small = folded(text)

    def begins(place: int) -> bool:
        before, letter = text[place - 1 : place], text[place]
        if not before:
            return True
        if not letter.isalnum():
            return False
        hump = letter.isupper() and not before.isupper()
        return not before.isalnum() or hump or letter.isdigit() != before.isdigit()

    def scores(number: int, after: int) -> list[int]:
        if number == len(word):
            return [0]
        found = []
        for place in range(after + 1, len(text)):
            if small[place] != word[number]:
                continue
            own = 8 if begins(place) else 1
            if number:
                own = max(8, own - 3) if place == after + 1 else own - 3
            found += [own + rest for rest in scores(number + 1, place)]
        return found

    return max(scores(0, -1))


@given(st.lists(WORDS, min_size=1, max_size=3), TEXTS)
def test_the_best_match_of_all_words_is_found(words: list[str], text: str) -> None:
    assert len(folded(text)) == len(text)
    query = words_of(" ".join(words))
    found = match(query, text)
    assert (found is not None) == all(is_subsequence(word, folded(text)) for word in query)
    if found is None or len(query) != 1:
        return
    (word,) = query
    assert "".join(folded(text)[place] for place in found.places) == word
    assert list(found.places) == sorted(set(found.places))
    assert found.score <= score_of(word, word)
    if word not in folded(text):  # contiguous letters also count as a whole word
        assert found.score == best_by_trying(word, text)


@pytest.mark.parametrize(
    ("query", "better", "worse"),
    [
        ("query", "encoder.query", "encoder.query_layer"),
        ("query", "encoder.query_layer", "encoder.subquery"),
        ("query", "encoder.subquery", "quite.early"),
        ("self", "layer.self", "layer.output.sheltering_fire"),
        ("layer 3", "encoder.layer.3", "encoder.layer.13"),
        ("layer 3", "encoder.layer.3", "encoder.layer.30"),
        ("bsa", "BertSelfAttention", "Bertisala"),
        ("wem", "embeddings.word_embeddings", "tower.them"),
        ("dark", "Appearance: Dark", "Open darknet"),
        ("768x768", "dense.weight  768×768", "dense.weight  7×6×8×76×8"),
        ("query 3", "encoder.layer.3.self.query", "encoder.layer.4.self.query"),
        ("self-attention", "encoder.layer.3.attention.self", "encoder.layer.3.attention"),
    ],
)
def test_ranking(query: str, better: str, worse: str) -> None:
    assert score_of(query, better) > score_of(query, worse)


@pytest.mark.parametrize("shape", ["[30522, 384]", "30522x384", "30522×384", "30522,384"])
def test_shapes_can_be_written_in_several_ways(shape: str) -> None:
    found = match(words_of(shape), "word_embeddings.weight  30522×384")
    assert found is not None
    assert len(found.places) == len("30522×384")


def test_words_of_a_query() -> None:
    assert words_of("Self-attention -1 a-") == ("self", "attention", "-1", "a-")
    assert len(words_of("a" * 1000)[0]) == 64
    text = "encoder.layer.3.attention.self.query"
    assert score_of("query 3", text) == score_of("3 query", text)
