"""What libraries say is passed on, and what they advise is not."""

import pytest
from huggingface_hub.errors import OfflineModeIsEnabled

from bertviewer.core.util.error_messages import ELSEWHERE, plain_words, words_of

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
        (OfflineModeIsEnabled("Cannot reach https://x: unset HF_HUB_OFFLINE"), ELSEWHERE),
        (caused(OSError("We couldn't connect"), ConnectionError("x")), ELSEWHERE),
    ],
)
def test_words(error: Exception, words: str) -> None:
    assert plain_words(error) == words


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
        (ConnectionError("x"), ELSEWHERE),
    ],
)
def test_what_an_error_says_in_a_line(error: Exception, words: str) -> None:
    assert words_of(error).startswith(words)
