"""Run A beside run B on paper."""

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.numbers import MINUS
from bertviewer.report.blocks import Figure
from bertviewer.report.chapters.runs import runs
from bertviewer.report.subject import Subject
from tests.report.chapters.test_run_chapters import run_of, there
from tests.report.conftest import subject_of
from tests.report.reading import each, rows, said, table

A, B = Sentence("the bank raised the rate"), Sentence("the bank of the river")


@pytest.fixture(scope="module")
def two(demo_source: ModelSource) -> Subject:
    return subject_of(open_model(demo_source), B, is_checked=False, other=A)


def number(text: str) -> float:
    return float(text.replace(MINUS, "-"))


def std_of(run: ActivationRun | None, layer: int) -> float:
    activation = None if run is None else run.activation(f"encoder.layer.{layer}")
    assert activation is not None
    std = activation.statistics.std
    assert std is not None
    return std


def test_a_run_beside_itself_differs_in_nothing(demo: Subject) -> None:
    other = replace(run_of(demo), sentence=Sentence("another", "one"))
    section = there(runs(replace(demo, baseline=other)))
    assert "another" in said(section.blocks[0])
    assert "11 of B’s 11 tokens were aligned" in said(section)
    for row in rows(table(section, "runs")):
        assert row[1] == row[2]
        assert row[3] == "0"
    for row in rows(table(section, "runs-others")):
        assert row[1:] == ["0"] * 8
    # No layer of A was looked at: it may be a run from a file.
    assert not any("attention" in inner.name for inner in section.sections)


def test_statistics_of_both_and_their_difference(two: Subject) -> None:
    section = there(runs(two))
    found = rows(table(section, "runs"))
    assert len(found) == 6
    for layer, row in enumerate(found):
        figures = [number(cell) for cell in row[1:]]
        expected = [std_of(run, layer) for run in (two.baseline, two.run)]
        assert figures[:2] == pytest.approx(expected, rel=1e-4)
        assert figures[2] == pytest.approx(expected[1] - expected[0], rel=1e-4)
    assert len(rows(table(section, "runs-others"))) == 6
    assert [row[0] for row in rows(table(section, "runs-output"))][:3] == ["Mean", "Std", "Min"]


def test_norms_similarity_and_the_head_that_changed_most(two: Subject) -> None:
    section = there(runs(two))
    assert [figure.picture for figure in each(section, Figure)] == [
        "runs-layers",
        "runs-norms-a",
        "runs-norms-b",
        "runs-norms",
        "runs-cosines",
        "runs-head",
    ]
    drafted = runs(two)
    assert drafted is not None
    assert drafted.pictures.keys() == {figure.picture for figure in each(section, Figure)}
    same = rows(table(section, "runs-same"))
    assert same[0][:3] == ["0 [CLS]", "0", "1.0000"]
    assert float(same[0][4]) < 1


def test_the_heads_are_ranked_by_their_mean_change(two: Subject) -> None:
    beside = two.details.baseline
    assert beside is not None
    assert beside.maps is not None
    values = [head.value for head in beside.heads]
    assert len(values) == 5
    assert values == sorted(values, reverse=True)
    b, a = (maps.probabilities[beside.heads[0].head] for maps in beside.maps)
    # [CLS] the bank … [SEP]: of the same ids and order are the first three and some after them.
    pairs = ((0, 0), (1, 1), (2, 2), (4, 4), (6, 6))
    rows_b, rows_a = ([pair[side] for pair in pairs] for side in (1, 0))
    apart = np.abs(b[np.ix_(rows_b, rows_b)] - a[np.ix_(rows_a, rows_a)])
    assert values[0] == pytest.approx(float(apart.mean()), rel=1e-5)


def test_predictions_stand_beside_each_other() -> None:
    model = open_model(parse_source("bert-base-uncased", "masked-lm"))
    subject = subject_of(
        model, Sentence("a [MASK] b"), random=True, is_checked=False, other=Sentence("a [MASK] c")
    )
    section = there(runs(subject))
    place = subject.details.predictions[0].position
    found = table(section, f"runs-predicted-{place}")
    assert [column.title for column in found.columns] == [
        "Rank",
        "Token",
        "B",
        "A",
        "B − A",
        "Logit",
    ]


def test_classes_stand_beside_each_other(tiny_bert_folder: object) -> None:
    model = open_model(parse_source(str(tiny_bert_folder), "sequence-classification"))
    subject = subject_of(model, Sentence("the cat"), is_checked=False, other=Sentence("the dog"))
    assert len(rows(table(there(runs(subject)), "runs-classes"))) == 2
