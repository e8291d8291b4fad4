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
        ("名前 💥 ß <b>*x* $y$", "名前 💥 ß <b>*x* $y$"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\u202eb", "a\\u202eb"),
        ("\ud800", "\\ud800"),
    ],
)
def test_only_unprintable_characters_are_escaped(text: str, message: str) -> None:
    assert str(UserError(text)) == message


def test_a_long_text_loses_its_middle() -> None:
    message = str(UserError("model.bin: " + "x" * 5000 + " at byte 7"))
    assert message.startswith("model.bin: xxx")
    assert message.endswith("xxx at byte 7")


TIMM = "it needs the library timm, which is missing"


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("one\n two"), "one two"),
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
def test_advice_to_programmers_is_removed(error: Exception, message: str) -> None:
    assert library_message(error) == message


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (KeyError("gelu_2"), "KeyError: 'gelu_2'"),
        (TypeError("ne() received\n an invalid"), "TypeError: ne() received an invalid"),
        (TypeError(), "TypeError"),
        (AttributeError("'NoneType' object has no"), "AttributeError: 'NoneType' object has no"),
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
def test_errors_are_described_in_a_line(error: Exception, message: str) -> None:
    assert describe_error(error).startswith(message)
