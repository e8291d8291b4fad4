"""What a report says of random weights."""

from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.report.random_words import ALL, RandomWords, random_words

TRAINED = SourceInfo("folder", "a", "base", "pretrained")


def test_trained_weights_need_no_words() -> None:
    assert random_words(TRAINED, 40) is None
    assert random_words(SourceInfo("preset", "a", "base", "none"), 40) is None


def test_some_tensors_are_counted() -> None:
    lacking = SourceInfo("folder", "a", "masked-lm", "pretrained", ("x", "y", "z"))
    assert random_words(lacking, 42) == RandomWords(
        "3 of 42 tensors are missing from the checkpoint and were initialised randomly: results "
        "that use them are not meaningful.",
        "3 of 42 tensors random",
    )


def test_a_single_tensor_is_one() -> None:
    lacking = SourceInfo("folder", "a", "masked-lm", "pretrained", ("x",))
    assert random_words(lacking, 42) == RandomWords(
        "1 of 42 tensors is missing from the checkpoint and was initialised randomly: results that "
        "use it are not meaningful.",
        "1 of 42 tensors random",
    )


def test_all_weights_random() -> None:
    found = random_words(SourceInfo("preset", "gpt2", "base", "random"), 148)
    assert found == RandomWords(ALL, "random weights")
