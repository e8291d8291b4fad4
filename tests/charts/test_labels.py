"""Labels of tokens, hidden states and counts."""

import pytest
from msgspec.structs import replace

from bertviewer.charts.labels import tensors_text, token_name, token_title, visible
from tests.charts.runs import made_up
from tests.core.opened import plain

ARABIC, IN_LINE = "##م", "\u2066##م\u2069"


def test_a_name_has_the_position_and_that_in_run_a() -> None:
    run = made_up("the bank")
    assert token_name(run, 2) == token_name(run, 2, 2) == "bank (2)"
    assert token_name(run, 2, 3) == "bank (2, A 3)"


def test_right_to_left_names_are_isolated() -> None:
    run = made_up(f"the {ARABIC}")
    # Without isolates "(2)" would be drawn before the letters, and mirrored.
    assert token_name(run, 2) == f"{IN_LINE} (2)"
    assert token_title(run, 2).startswith(f"{IN_LINE} (token 2")


def test_a_right_to_left_word_of_pieces_is_isolated() -> None:
    run = made_up(f"س {ARABIC}")
    tokens = (run.tokens[0], *(replace(t, word=0) for t in run.tokens[1:3]), run.tokens[3])
    title = token_title(replace(run, tokens=tokens), 2)
    assert title == f"{IN_LINE} (token 2, in word 0: \u2068سم\u2069)"


def test_a_long_name_is_cut_inside() -> None:
    run = made_up("م" * 40)
    assert token_name(run, 1) == f"\u2068{'م' * 15}…\u2069 (1)"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("cat", "cat"),
        ("a b", "a b"),
        ("  ", "␣␣"),
        ("\n", "\\n"),
        ("\x00", "\\x00"),
        ("\u2028", "\\u2028"),
        ("👨‍👩‍👧", "👨‍👩‍👧"),
        ("", ""),
    ],
)
def test_blank_and_control_characters_are_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


def test_tied_names_are_counted_separately() -> None:
    model = plain("bert-base-uncased", "masked-lm")
    assert model.tensor_count == 202
    assert tensors_text(model.parameters) == "202 tensors and 2 tied names"
    decoder = model.tensors_below("cls.predictions.decoder")
    assert tensors_text(decoder) == "2 tied names"
    one = [replace(model.parameters[0], tied_to=None)]
    assert tensors_text(one) == "1 tensor"
    assert tensors_text(plain("bert-base-uncased").parameters) == "199 tensors"
    assert tensors_text(()) == "0 tensors"
