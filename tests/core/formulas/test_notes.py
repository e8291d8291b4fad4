"""Every note of every formula is true of the model that it stands beside, or is not there."""

from functools import cache

import pytest

from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.formulas.kinds import kinds
from bertviewer.core.formulas.notes import Note
from tests.core.formulas import attention_claims, layer_claims, model_claims
from tests.core.formulas.claims import CLAIMS, Check
from tests.core.formulas.general_notes import GENERAL
from tests.core.formulas.note_cases import CASES, Case

assert attention_claims
assert layer_claims
assert model_claims


@cache
def claim_of(note: str) -> tuple[Check, tuple[str, ...]] | None:
    """Return what evaluates a note; ``None`` for one that states no fact about the model."""
    text = note.removesuffix(".")
    for pattern, check in CLAIMS:
        if found := pattern.fullmatch(text):
            return check, found.groups()
    assert GENERAL.fullmatch(text), f"nothing evaluates the note: {note}"
    return None


@pytest.mark.parametrize("one", CASES, ids=str)
def test_every_note_is_true(one: Case) -> None:
    architecture = one.architecture
    by_path, done = kinds(architecture), set()
    for node in architecture.modules:
        formula = formula_of(node, architecture)
        for note in () if formula is None else formula.notes:
            if (by_path[node.path], note) in done:
                continue
            done.add((by_path[node.path], note))
            assert not isinstance(note, Note)
            if claim := claim_of(note):
                check, groups = claim
                assert check(one, node, groups), f"{node.path}: {note}"
