"""Some hundred damaged files of each kind: nothing dies, hangs or ends in a traceback."""

import pytest

from tests.fuzz.cases import work_through
from tests.fuzz.targets import TARGETS

COUNT = 500


@pytest.mark.parametrize("name", list(TARGETS))
def test_damaged_files(name: str) -> None:
    outcome = work_through(name, COUNT)
    assert outcome.broken == []
    assert sum(outcome.counts.values()) == COUNT
    # A damage that nobody notices, and one that is: both have to be among them.
    assert outcome.counts["fine"] > 0
    assert outcome.counts["refused"] > COUNT // 4
