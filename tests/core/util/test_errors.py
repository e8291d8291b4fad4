"""One-line messages of errors."""

import pytest
from huggingface_hub.errors import OfflineModeIsEnabled
from hypothesis import given
from hypothesis import strategies as st

from bertviewer.core.util.errors import (
    MAX_MESSAGE,
    NEEDS_OTHER_FILES,
    UserError,
    describe_error,
    library_message,
)


@given(st.text(max_size=3 * MAX_MESSAGE))
def test_any_text_becomes_one_short_line(text: str) -> None:
    message = str(UserError(text))
    assert message.isprintable()
    assert len(message) <= MAX_MESSAGE + len(" … ")
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


TIMM = "it needs the library timm, which is missing"


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (ValueError("one\n two"), "one two"),
        (
            ValueError("LABEL_0 is no class. hidden_size is 3."),
            "LABEL_0 is no class. hidden_size is 3.",
        ),
        (ValueError("X is broken. Please run `pip install y -U`."), "X is broken."),
        (ValueError("It has its own code; pass trust_remote_code=True."), "It has its own code;"),
        (ValueError("Set the environment variable HF_HUB_OFFLINE=0"), ""),
        (RuntimeError("CUDA error: none\nConsider CUDA_LAUNCH_BLOCKING=1"), "CUDA error: none"),
        (ImportError("X requires the timm library but it was not found"), TIMM),
        (ModuleNotFoundError("No module named 'timm.x'", name="timm.x"), TIMM),
        (ImportError("something"), "it needs a library, which is missing"),
        (OfflineModeIsEnabled("Cannot reach https://x: unset HF_HUB_OFFLINE"), NEEDS_OTHER_FILES),
        (caused(OSError("We couldn't connect"), ConnectionError("x")), NEEDS_OTHER_FILES),
    ],
)
def test_words(error: Exception, words: str) -> None:
    assert library_message(error) == words


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (KeyError("gelu_2"), "KeyError: 'gelu_2'"),
        (TypeError("ne() received\n an invalid"), "TypeError: ne() received an invalid"),
        (TypeError(), "TypeError"),
        (AttributeError("'NoneType' object has no"), "AttributeError: 'NoneType' object has no"),
        (NameError("name 'x' is not defined"), "NameError: name 'x' is not defined"),
        (ValueError("not enough values to unpack"), "not enough values to unpack"),
        (ValueError("LABEL_0 is no class"), "LABEL_0 is no class"),
        (IndexError("list index out of range"), "IndexError: list index out of range"),
        (IndexError("index out of range in self"), "an index is out of range"),
        (TypeError("X is broken. Please run `pip install y`."), "TypeError: X is broken."),
        (caused(TypeError("x"), ImportError("y", name="z")), "it needs the library z, which is"),
        (ZeroDivisionError("division by zero"), "it divides by zero"),
        (NotImplementedError(), "it does not implement this"),
        (AssertionError(), "an assertion in its code fails"),
        (AssertionError("There should be three"), "There should be three"),
        (RuntimeError(), "no reason given"),
        (ValueError("pip install x"), "no reason given"),
        (ConnectionError("x"), NEEDS_OTHER_FILES),
    ],
)
def test_what_an_error_says_in_a_line(error: Exception, words: str) -> None:
    assert describe_error(error).startswith(words)
