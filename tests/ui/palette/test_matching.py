"""What fits what was typed, and what fits it better."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.ui.palette.matching import Match, folded, match, words_of

WORDS = st.text("abcß.İ3_", min_size=1, max_size=4)
TEXTS = st.text("aAbBcC.3_ ßİ", max_size=12)


def fits(query: str, text: str) -> Match | None:
    return match(words_of(query), text)


def is_subsequence(word: str, text: str) -> bool:
    rest = iter(text)
    return all(letter in rest for letter in word)


def score_of(query: str, text: str) -> int:
    found = fits(query, text)
    assert found is not None
    return found.score


@given(st.lists(WORDS, min_size=1, max_size=3), TEXTS)
def test_all_words_have_to_be_there_letter_by_letter(words: list[str], text: str) -> None:
    query = words_of(" ".join(words))
    found = match(query, text)
    assert (found is not None) == all(is_subsequence(word, folded(text)) for word in query)


@given(WORDS, TEXTS)
def test_places_spell_what_was_typed(word: str, text: str) -> None:
    (typed,) = words_of(word) or ("",)
    found = match((typed,), text) if typed else None
    if found is not None:
        assert "".join(folded(text)[place] for place in found.places) == typed
        assert list(found.places) == sorted(set(found.places))


@given(WORDS, TEXTS)
def test_nothing_fits_better_than_the_same(word: str, text: str) -> None:
    (typed,) = words_of(word) or ("",)
    found = match((typed,), text) if typed else None
    if found is not None:
        assert found.score <= score_of(typed, typed)


@given(TEXTS)
def test_folding_keeps_places(text: str) -> None:
    assert len(folded(text)) == len(text)


@given(WORDS, TEXTS)
def test_the_best_of_all_ways_is_found(word: str, text: str) -> None:
    (typed,) = words_of(word) or ("",)
    found = match((typed,), text) if typed else None
    if found is None or "".join(folded(text)).count(typed):
        return  # a row of letters also counts as a whole word
    assert found.score == best_by_trying(typed, text)


def best_by_trying(word: str, text: str) -> int:
    """Try each way to find the letters; 8 for a beginning or a row, 1 for others, -3 for a gap."""
    small = folded(text)

    def begins(place: int) -> bool:
        before, letter = text[place - 1 : place], text[place]
        if not before:
            return True
        if not letter.isalnum():
            return False
        hump = letter.isupper() and not before.isupper()
        return not before.isalnum() or hump or letter.isdigit() != before.isdigit()

    def ways(number: int, after: int) -> list[int]:
        if number == len(word):
            return [0]
        found = []
        for place in range(after + 1, len(text)):
            if small[place] != word[number]:
                continue
            own = 8 if begins(place) else 1
            if number:
                own = max(8, own - 3) if place == after + 1 else own - 3
            found += [own + rest for rest in ways(number + 1, place)]
        return found

    return max(ways(0, -1))


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
    ],
)
def test_what_fits_better(query: str, better: str, worse: str) -> None:
    assert score_of(query, better) > (fits(query, worse) or Match(0, ())).score


def test_words_may_come_in_any_order() -> None:
    text = "encoder.layer.3.attention.self.query"
    assert score_of("query 3", text) == score_of("3 query", text)
    assert fits("query 4", text) is None


@pytest.mark.parametrize("shape", ["[30522, 384]", "30522x384", "30522×384", "30522,384"])
def test_shapes_are_found_however_they_are_written(shape: str) -> None:
    found = fits(shape, "word_embeddings.weight  30522×384")
    assert found is not None
    assert len(found.places) == len("30522×384")


def test_a_hyphen_parts_words() -> None:
    assert words_of("Self-attention -1 a-") == ("self", "attention", "-1", "a-")
    assert fits("self-attention", "encoder.layer.3.attention.self") is not None


def test_a_long_query_is_cut() -> None:
    assert len(words_of("a" * 1000)[0]) == 64
