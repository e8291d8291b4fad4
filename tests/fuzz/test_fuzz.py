"""Some damaged files of each kind: nothing dies, hangs or ends in a traceback."""

from collections.abc import Iterator

import pytest

from tests.fuzz.cases import Workers
from tests.fuzz.targets import TARGETS

COUNT = 40
"""``python -m tests.fuzz`` works through more."""

FEW = 8
"""Of the names: each family that comes up is imported."""


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers() as workers:
        yield workers


@pytest.mark.parametrize("name", list(TARGETS))
def test_damaged_files(workers: Workers, name: str) -> None:
    count = FEW if name == "names" else COUNT
    outcome = workers.work_through(name, count)
    assert outcome.broken == []
    assert sum(outcome.counts.values()) == count
    # A damage that nobody notices, and one that is: both have to be among them.
    assert outcome.counts["fine"] > 0
    assert outcome.counts["refused"] > count // 4
