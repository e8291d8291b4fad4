"""Fields that are not compared change neither equality nor hash."""

import pickle

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.util.partial_equality import PartialEquality


class Word(PartialEquality, Struct, frozen=True):
    NOT_COMPARED = ("written",)

    text: str
    number: int = 0
    written: str = ""


def test_only_the_other_fields_are_compared() -> None:
    word = Word("a", 1, "A")
    assert word == replace(word, written="b")
    assert hash(word) == hash(replace(word, written="b"))
    assert word != replace(word, number=2)
    assert word != ("a", 1)
    assert repr(word) == "Word(text='a', number=1)"
    assert pickle.loads(pickle.dumps(word)).written == "A"
