"""Classes of tokens, family by family."""

from typing import Any

import pytest

from bertviewer.core.analysis.token_classes import token_classes
from tests.core.analysis.runs import demo_run, run_of, tokens_of


def classes_of(*texts: str, pair: bool = False, **more: Any) -> dict[str, tuple[str, list[int]]]:
    run = run_of(tokens_of(*texts, **more), pair="text" if pair else None)
    return {found.name: (found.label, list(found.tokens)) for found in token_classes(run)}


def test_a_pair_of_bert() -> None:
    texts = ("[CLS]", "a", "[MASK]", "[SEP]", "[UNK]", "b", "[SEP]")
    assert classes_of(*texts, segments="0000111", pair=True) == {
        "all": ("all tokens", [0, 1, 2, 3, 4, 5, 6]),
        "content": ("content", [1, 2, 4, 5]),
        "cls": ("[CLS]", [0]),
        "sep": ("[SEP]", [3, 6]),
        "mask": ("[MASK]", [2]),
        "first": ("first sentence", [1, 2]),
        "second": ("second sentence", [4, 5]),
        "unknown": ("unknown", [4]),
    }


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (
            ["<s>", "a", "</s>"],
            {"content": ("content", [1]), "cls": ("<s>", [0]), "sep": ("</s>", [2])},
        ),
        (
            ["a", "<sep>", "<cls>"],
            {"content": ("content", [0]), "cls": ("<cls>", [2]), "sep": ("<sep>", [1])},
        ),
        (["a", "</s>"], {"content": ("content", [0]), "sep": ("</s>", [1])}),
        (["a", "b"], {"content": ("content", [0, 1]), "last": ("last token", [1])}),
        (
            ["<|endoftext|>", "a"],
            {
                "content": ("content", [1]),
                "sep": ("<|endoftext|>", [0]),
                "last": ("last token", [1]),
            },
        ),
        (
            ["[CLS]", "[PAD]"],
            {"cls": ("[CLS]", [0]), "special": ("other special", [1])},
        ),
    ],
)
def test_families(texts: list[str], expected: dict[str, tuple[str, list[int]]]) -> None:
    everything = {"all": ("all tokens", list(range(len(texts))))}
    assert classes_of(*texts) == everything | expected


def test_no_token_is_in_no_class() -> None:
    assert token_classes(run_of([])) == ()


def test_the_demo() -> None:
    run = demo_run("the cat", "the mat")
    assert [(found.name, found.tokens) for found in token_classes(run)] == [
        ("all", (0, 1, 2, 3, 4, 5, 6)),
        ("content", (1, 2, 4, 5)),
        ("cls", (0,)),
        ("sep", (3, 6)),
        ("first", (1, 2)),
        ("second", (4, 5)),
    ]
