"""Two models side by side on paper."""

from math import hypot
from pathlib import Path

import pytest
from msgspec.structs import replace

from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.comparison.compare_models import compare_models
from bertviewer.core.comparison.comparison import ComparedKey, Comparison
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from bertviewer.report.blocks import Figure
from bertviewer.report.chapters.models import models
from bertviewer.report.subject import Subject
from tests.report.chapters.test_run_chapters import there
from tests.report.reading import each, rows, said, table


@pytest.fixture(scope="module")
def moved_models(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """The tiny model, and the same with another second layer."""
    folder = tmp_path_factory.mktemp("moved")
    model = transformers.AutoModel.from_pretrained(tiny_bert_folder)
    with torch.no_grad():
        for place, parameter in enumerate(model.encoder.layer[1].parameters()):
            parameter.flatten()[0] += 0.5 + place
    model.save_pretrained(folder)
    left, right = (open_model(parse_source(str(each))) for each in (tiny_bert_folder, folder))
    return Subject(left.with_formulas(), comparison=compare_models(left, right))


@pytest.fixture(scope="module")
def compared() -> Subject:
    """Two models of other sizes, without weights."""
    left = open_model(parse_source("bert-base-uncased"))
    right = open_model(parse_source("bert-large-uncased"))
    return Subject(left.with_formulas(), comparison=compare_models(left, right))


def test_counts_and_totals(compared: Subject) -> None:
    section = there(models(compared))
    words = said(section)
    assert "109,482,240 parameters, the right one 335,141,888 (+225,659,648)." in words
    counts = {row[0]: row[1:] for row in rows(table(section, "model-counts"))}
    assert counts["only right"][0] == str(12 * 16)
    assert sum(int(count) for count, _ in counts.values()) == 199 + 12 * 16


def test_configurations_stand_side_by_side(compared: Subject) -> None:
    found = {row[0]: row[1:] for row in rows(table(there(models(compared)), "model-keys"))}
    assert found["hidden_size"] == ["768", "1024"]
    # What formulas are made of is there although it is the same.
    assert found["vocab_size"] == ["30522", "30522"]
    assert list(found)[-1] == "type_vocab_size"


def test_a_model_beside_itself(compared: Subject) -> None:
    architecture = compared.architecture
    same = Comparison(architecture.source, architecture.source, 1, 1, (), ())
    section = there(models(replace(compared, comparison=same)))
    assert "Both models have 1 parameter." in said(section)
    assert [inner.name for inner in section.sections] == ["models-configuration"]
    other = replace(same, keys=(ComparedKey("x", None, 1),))
    section = there(models(replace(compared, comparison=other)))
    assert "1 key differs" in said(section)
    assert rows(table(section, "model-keys"))[0] == ["x", "–", "1"]


def test_how_far_tensors_moved_by_layer_and_by_kind(moved_models: Subject) -> None:
    section = there(models(moved_models))
    found = moved_models.comparison
    assert found is not None
    assert [figure.picture for figure in each(section, Figure)] == ["change"]
    layers = {row[0]: row for row in rows(table(section, "changed-modules"))}
    kinds = {row[0]: row for row in rows(table(section, "changed-kinds"))}
    changes = [
        one.change
        for one in found.tensors
        if one.change is not None and one.name.startswith("encoder.layer.1.")
    ]
    share = hypot(*(c.difference_norm for c in changes)) / hypot(*(c.left_norm for c in changes))
    assert layers["encoder.layer.1"][1] == f"{share:.2g}"
    assert layers["embeddings"][1] == "0"
    assert "attention.self.query.weight" in kinds
    largest = rows(table(section, "changed"))
    assert all("encoder.layer.1." in row[0] for row in largest)
