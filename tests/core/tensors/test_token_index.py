from bertviewer.core.tensors.axes import TokenIndex

INDEX = TokenIndex(["[PAD]", "the", "The", "then", "##the", "Ġthe", "bank", "##s", "them", "the"])


def test_a_token_is_found_by_its_text() -> None:
    assert INDEX.find("the") == 1
    assert INDEX.find("The") == 2
    assert INDEX.find("##s") == 7
    assert INDEX.find("Ġthe") == 5


def test_or_by_how_it_begins() -> None:
    assert INDEX.find("ban") == 6
    assert INDEX.find("BANK") == 6
    assert INDEX.find("s") == 7
    assert INDEX.find("xyz") is None
    assert INDEX.find("") is None


def test_tokens_that_begin_alike_are_offered_the_shortest_first() -> None:
    assert INDEX.starting("the", 20) == (1, 2, 4, 5, 9, 8, 3)
    assert INDEX.starting("THE", 2) == (1, 2)
    assert INDEX.starting("[p", 9) == (0,)
    assert INDEX.starting("", 9) == ()
