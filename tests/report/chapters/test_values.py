"""Values of activations on paper, and the elements in which a check differs the most."""

import pytest
from msgspec.structs import replace

from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.numbers import MINUS
from bertviewer.report.blocks import Table
from bertviewer.report.chapters.checks import checks
from bertviewer.report.chapters.values import values
from bertviewer.report.subject import Subject
from tests.report.chapters.test_run_chapters import run_of, there
from tests.report.conftest import subject_of
from tests.report.reading import cells, each, rows, said, table


def number(text: str) -> float:
    return float(text.replace(MINUS, "-"))


def test_what_modules_took_and_gave_stands_token_by_token(demo: Subject) -> None:
    found = table(there(values(demo)), "values-0")
    assert [column.title for column in found.columns] == (
        ["Token", "0", "1", "2", "3", "…", "382", "383"]
    )
    heads = [cells(row)[0] for row in found.rows if row.look == "head"]
    # What the embeddings gave is what the first layer took: it is printed once.
    assert heads == [
        "Output of the embeddings, input of layer 0 (hidden_states) [1, 11, 384] float32",
        "Output of layer 0 [1, 11, 384] float32",
        "Input of layer 5 (hidden_states) [1, 11, 384] float32",
        "Output of layer 5 [1, 11, 384] float32",
    ]
    plain = [cells(row) for row in found.rows if row.look == "plain"]
    assert [row[0] for row in plain[:7]] == (
        ["0 [CLS]", "1 this", "2 is", "3 a", "…", "9 sentence", "10 [SEP]"]
    )
    embedded = run_of(demo).hidden_states[0]
    assert number(plain[0][1]) == pytest.approx(embedded[0, 0], abs=5e-7)
    assert number(plain[5][7]) == pytest.approx(embedded[9, 383], abs=5e-7)
    assert set(plain[4]) == {"…"}


def test_two_tokens_are_followed_through_the_layers(demo: Subject) -> None:
    section = there(values(demo))
    tables = [one for one in each(section, Table) if "token" in one.name]
    assert [one.name for one in tables] == ["table:values-token-0", "table:values-token-9"]
    found = rows(tables[1])
    assert [row[0] for row in found] == ["embeddings", *(f"layer {n}" for n in range(6))]
    for state, row in zip(run_of(demo).hidden_states, found, strict=True):
        assert number(row[2]) == pytest.approx(state[9, 1], abs=5e-7)
    assert "6 of the 384 components" in said(section)


def test_a_run_from_a_file_shows_its_states_alone(demo: Subject) -> None:
    section = there(values(Subject(demo.architecture, demo.run)))
    assert [inner.name for inner in section.sections] == ["values-tokens"]
    assert values(Subject(demo.architecture)) is None
    bare = replace(run_of(demo), hidden_states=())
    assert values(Subject(demo.architecture, bare)) is None


def test_the_elements_that_differ_the_most(demo: Subject) -> None:
    found = demo.details.compared
    assert 0 < len(found) <= 5
    for one in found:
        assert one.difference == one.given - one.recomputed
        assert one.step.max_abs_error == pytest.approx(abs(one.difference))
        assert one.step.tolerance == one.tolerance
    nearest = [abs(one.difference) / one.tolerance for one in found]
    assert nearest == sorted(nearest, reverse=True)
    classes = {module.path: module.class_name for module in run_of(demo).modules}
    names = [classes[one.step.path] for one in found]
    assert len(set(names)) == len(names)
    shown = rows(table(there(checks(demo)), "check-elements"))
    assert len(shown) == len(found)
    assert number(shown[0][2]) == pytest.approx(found[0].given, rel=1e-9)
    assert number(shown[0][3]) == pytest.approx(found[0].recomputed, rel=1e-9)


def test_without_a_check_nothing_is_compared(demo_source: ModelSource) -> None:
    subject = subject_of(open_model(demo_source), Sentence("one two"), is_checked=False)
    assert subject.details.compared == ()
