"""What libraries say is passed on, and what they advise is not."""

import pytest
from huggingface_hub.errors import OfflineModeIsEnabled

from bertviewer.core.system.library_words import ELSEWHERE, named_words, plain_words

TIMM = "it needs the library timm, which is not there"


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
        (ImportError("something"), "it needs a library, which is not there"),
        (OfflineModeIsEnabled("Cannot reach https://x: unset HF_HUB_OFFLINE"), ELSEWHERE),
        (caused(OSError("We couldn't connect"), ConnectionError("x")), ELSEWHERE),
    ],
)
def test_words(error: Exception, words: str) -> None:
    assert plain_words(error) == words


def test_the_class_is_named_where_the_words_are_the_librarys() -> None:
    assert named_words(KeyError("x")) == "KeyError: 'x'"
    assert named_words(ValueError("pip install x")) == "ValueError"
    assert named_words(ConnectionError("x")) == ELSEWHERE
