"""The comparison of two models as text."""

from msgspec.structs import replace

from bertviewer.core.comparison.comparison import Change, compare_architectures
from bertviewer.report.summary import comparison_text
from tests.core.opened import plain


def test_what_is_the_same_is_counted_and_what_changed_is_listed() -> None:
    found = compare_architectures(plain("bert-base-uncased"), plain("bert-base-uncased"))
    same = Change(8, 8, 0.0, 0.0, 0.0, 1.0)
    tensors = [replace(tensor, change=same) for tensor in found.tensors]
    tensors[3] = replace(tensors[3], change=Change(5, 8, 0.25, 0.1, 0.003, 0.9))
    lines = comparison_text(replace(found, tensors=tuple(tensors))).splitlines()
    assert lines[0] == (
        "Left:  Preset bert-base-uncased · Base model, no head · no weights "
        "· 109,482,240 parameters"
    )
    assert lines[2] == "Tensors: 1 changed, 198 same"
    assert lines[-1].split() == [
        "embeddings.LayerNorm.weight",
        "changed",
        *("[768]", "float32") * 2,
        "0.003",
        "0.25",
        "3",
    ]
    assert len(lines) == 7


def test_keys_that_differ_are_listed() -> None:
    found = compare_architectures(plain("bert-base-uncased"), plain("bert-large-uncased"))
    lines = comparison_text(found).splitlines()
    assert "Tensors: 199 other shape, 192 only right" in lines
    assert ["hidden_size", "768", "1024"] in [line.split() for line in lines]
