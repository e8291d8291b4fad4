"""The examples in docstrings do what they say."""

import doctest

import bertviewer


def test_of_the_package() -> None:
    found = doctest.testmod(bertviewer)
    assert found.attempted
    assert not found.failed
