"""What a report says of random weights."""

from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.report.summary import WarningText, random_weights_warning

TRAINED = SourceInfo("folder", "a", "base", "pretrained")


def test_trained_weights_need_no_words() -> None:
    assert random_weights_warning(TRAINED, 40) is None
    assert random_weights_warning(SourceInfo("preset", "a", "base", "none"), 40) is None


def test_some_tensors_are_counted() -> None:
    lacking = SourceInfo("folder", "a", "masked-lm", "pretrained", ("x", "y", "z"))
    assert random_weights_warning(lacking, 42) == WarningText(
        "3 of 42 tensors are missing from the checkpoint and were initialised randomly: results "
        "that use them are not meaningful.",
        "3 of 42 tensors random",
    )


def test_a_single_tensor_is_one() -> None:
    lacking = SourceInfo("folder", "a", "masked-lm", "pretrained", ("x",))
    assert random_weights_warning(lacking, 42) == WarningText(
        "1 of 42 tensors is missing from the checkpoint and was initialised randomly: results that "
        "use it are not meaningful.",
        "1 of 42 tensors random",
    )


def test_all_weights_random() -> None:
    found = random_weights_warning(SourceInfo("preset", "gpt2", "base", "random"), 148)
    assert found is not None
    assert found.text.startswith("The activations in this report come from random weights.")
    assert found.short == "random weights"
