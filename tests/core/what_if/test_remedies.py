"""What mends a scenario that no model can have."""

from hypothesis import given, settings
from hypothesis import strategies as st

from bertviewer.core.what_if.scenario import Scenario, evaluate_scenario, remedies
from bertviewer.core.what_if.sheet import Problem, ScenarioError, Sheet
from tests.core.what_if.sheets import family_sheet, sheet_of


def broken(scenario: Scenario) -> tuple[Problem, ...]:
    try:
        return evaluate_scenario(scenario).warnings
    except ScenarioError as error:
        return error.problems


def offered(sheet: Sheet, **changed: int) -> list[tuple[str, int]]:
    scenario = Scenario(sheet, changed)
    return list(remedies(scenario, broken(scenario)).items())


def test_the_letter_that_nobody_changed_comes_first() -> None:
    sheet = sheet_of("bert-base-uncased")
    assert offered(sheet, D=1024) == [("A", 16), ("D", 1020)]
    assert offered(sheet, A=7) == [("D", 770), ("A", 8)]
    assert offered(sheet, S=600) == [("L", 600), ("S", 512)]
    assert offered(sheet, S=100_000) == [("L", 100_000), ("S", 512)]


def test_widths_that_have_to_be_equal() -> None:
    sheet = family_sheet("electra", embedding_size=256)
    assert offered(sheet, E=128) == [("D", 128), ("E", 256)]


def test_what_is_kept_is_not_offered() -> None:
    sheet = sheet_of("bert-base-uncased")
    scenario = Scenario(sheet, {"D": 1024}, sheet.multiples)
    assert remedies(scenario, broken(scenario)) == {"A": 16, "D": 1020}


@settings(max_examples=30)
@given(st.integers(1, 3000), st.integers(1, 40), st.integers(1, 2000))
def test_what_is_offered_mends_it(width: int, heads: int, tokens: int) -> None:
    sheet = sheet_of("bert-base-uncased")
    scenario = Scenario(sheet, {"D": width, "A": heads, "S": tokens})
    for letter, value in remedies(scenario, broken(scenario)).items():
        mended = Scenario(sheet, {**scenario.changed, letter: value})
        assert broken(mended) == ()
