"""A message is one line that can be shown anywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.core.util.errors import LONGEST, UserError


@given(st.text(max_size=3 * LONGEST))
def test_any_text_becomes_one_short_line(text: str) -> None:
    message = str(UserError(text))
    assert message.isprintable()
    assert len(message) <= LONGEST + len(" … ")
    assert message.strip() == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n  b\tc", "a b c"),
        ("名前 💥 ß", "名前 💥 ß"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\u202eb", "a\\u202eb"),
        ("\ud800", "\\ud800"),
        ("\0", "\\x00"),
        ("<b>*x* $y$", "<b>*x* $y$"),
    ],
)
def test_what_is_changed_and_what_is_not(text: str, message: str) -> None:
    assert str(UserError(text)) == message


def test_both_ends_of_a_long_text_are_kept() -> None:
    message = str(UserError("model.bin: " + "x" * 5000 + " at byte 7"))
    assert message.startswith("model.bin: xxx")
    assert message.endswith("xxx at byte 7")
