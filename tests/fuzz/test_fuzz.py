"""Damaged files neither crash nor hang the program, and each is refused with one line."""

from collections.abc import Iterator

import pytest

from tests.fuzz.cases import Fuzzer
from tests.fuzz.targets import TARGETS

COUNT = 40
"""Cases of a target; ``python -m tests.fuzz`` tries more."""
FEW = 8
"""Cases of ``names``, each of which imports a model family."""


@pytest.fixture(scope="module")
def fuzzer() -> Iterator[Fuzzer]:
    with Fuzzer() as fuzzer:
        yield fuzzer


@pytest.mark.parametrize("name", TARGETS)
def test_damaged_files(fuzzer: Fuzzer, name: str) -> None:
    count = FEW if name == "names" else COUNT
    outcome = fuzzer.try_cases(name, count)
    assert outcome.broken == []
    assert sum(outcome.counts.values()) == count
    # Some damage is harmless, and some is not.
    assert outcome.counts["fine"] > 0
    assert outcome.counts["refused"] > count // 4
