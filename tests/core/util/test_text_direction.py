"""Texts from right to left inside of others: what is put around them, and taken away again."""

import pytest

from bertviewer.core.util.text_direction import bare, isolated


@pytest.mark.parametrize("text", ["", "bank", "##ing", "é", "注意", "😀", "▁the", "1٪", "٣"])
def test_what_runs_from_left_to_right_stays_as_it_is(text: str) -> None:
    assert isolated(text) == text


@pytest.mark.parametrize("text", ["سلام", "שלום", "a م b", "#م", "(שלום)"])
def test_what_runs_from_right_to_left_is_isolated(text: str) -> None:
    assert isolated(text) == f"\u2068{text}\u2069"


@pytest.mark.parametrize("text", ["##م", "##ום", "▁سلام", "سل@@", "שלום</w>"])
def test_the_mark_of_a_piece_stays_at_its_side(text: str) -> None:
    assert isolated(text) == f"\u2066{text}\u2069"


def test_data_are_free_of_isolates() -> None:
    name = f"B · {isolated('##م')} (3) – {isolated('שלום')} (4)"
    assert bare(name) == "B · ##م (3) – שלום (4)"
    # One alone is a token's own.
    assert bare("\u2068 (3)") == "\u2068 (3)"
    assert bare("bank (3)") == "bank (3)"
