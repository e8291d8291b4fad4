"""The chapters that compare two runs and two models."""

import shutil
from math import hypot
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.core.building.backend import torch, transformers
from bertviewer.core.comparison.compare_models import compare_models
from bertviewer.core.comparison.comparison import (
    Change,
    ComparedKey,
    Comparison,
    compare_architectures,
)
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.sources.model_source import ModelSource, find_task
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.progress import no_progress
from bertviewer.report.analysis import analyse_other_model
from bertviewer.report.blocks import Figure, Section
from bertviewer.report.chapters.models import models
from bertviewer.report.chapters.runs import runs
from bertviewer.report.run_details import OtherModelDetails, RunContext
from bertviewer.report.subject import Subject
from tests.core.opened import derived, plain
from tests.report.conftest import recorded, subject_of
from tests.report.reading import drafted, each, number, rows, table, words


def std_of(run: ActivationRun | None, layer: int) -> float:
    activation = None if run is None else run.activation(f"encoder.layer.{layer}")
    assert activation is not None
    std = activation.statistics.std
    assert std is not None
    return std


def test_a_run_does_not_differ_from_itself(demo: Subject) -> None:
    assert demo.run is not None
    other = replace(demo.run, sentence=Sentence("another", "one"))
    section = drafted(runs, replace(demo, baseline=other))
    assert "another" in words(section.blocks[0])
    assert "11 of B’s 11 tokens were aligned" in words(section)
    assert "standard deviation of each layer’s output is the same" in words(section)
    assert "norms of the aligned tokens’ vectors are the same" in words(section)
    assert not [*each(section, Figure)]
    # The attention of a run from a file is not known.
    assert not any("attention" in inner.name for inner in section.sections)


def test_statistics_of_both_runs_and_their_difference(demo_pair: Subject) -> None:
    section = drafted(runs, demo_pair)
    found = rows(table(section, "runs-others"))
    assert len(found) == 6
    changes = []
    for layer, row in enumerate(found):
        a, b = (std_of(run, layer) for run in (demo_pair.baseline, demo_pair.run))
        assert number(row[2]) == pytest.approx(b - a, abs=1e-5)
        changes.append(abs(b - a))
    assert f"most in layer {changes.index(max(changes))}, by" in words(section)


def test_figures_and_cosines_of_both_runs(demo_pair: Subject) -> None:
    draft, section = runs(demo_pair), drafted(runs, demo_pair)
    shown = [figure.picture for figure in each(section, Figure)]
    assert shown == ["runs-layers", "runs-norms", "runs-cosines", "runs-head"]
    assert draft is not None
    assert [*draft.pictures] == shown
    same = rows(table(section, "runs-same"))
    assert same[0][:3] == ["0 [CLS]", "0", "1.0000"]
    assert float(same[0][4]) < 1


def test_heads_are_ranked_by_their_mean_change(demo_pair: Subject) -> None:
    found = demo_pair.details.baseline
    assert found is not None
    assert found.maps is not None
    changes = [head.value for head in found.heads]
    assert len(changes) == 5
    assert changes == sorted(changes, reverse=True)
    b, a = (maps.probabilities[found.heads[0].head] for maps in found.maps)
    # The positions in A and in B of [CLS] the bank … the … [SEP].
    pairs = ((0, 0), (1, 1), (2, 2), (4, 4), (6, 6))
    rows_b, rows_a = ([pair[side] for pair in pairs] for side in (1, 0))
    difference = np.abs(b[np.ix_(rows_b, rows_b)] - a[np.ix_(rows_a, rows_a)])
    assert changes[0] == pytest.approx(float(difference.mean()), rel=1e-5)


def test_predictions_of_both_runs(masked: Subject) -> None:
    position = masked.details.predictions[0].position
    found = table(drafted(runs, masked), f"runs-predicted-{position}")
    titles = [column.title for column in found.columns]
    assert titles == ["Rank", "Token", "B", "A", "B − A", "Logit"]


@pytest.fixture(scope="module")
def sizes() -> Subject:
    """Return two models of different sizes, without weights."""
    found = compare_architectures(plain("bert-base-uncased"), plain("bert-large-uncased"))
    return Subject(derived("bert-base-uncased"), comparison=found)


def test_counts_and_configurations_of_two_models(sizes: Subject) -> None:
    section = drafted(models, sizes)
    expected = "109,482,240 parameters, the right one 335,141,888 (+225,659,648)."
    assert expected in words(section)
    count = "Of all 391 tensors, 199 differ in shape and 192 exist only in the right model."
    assert count in words(section)
    keys = {row[0]: row[1:] for row in rows(table(section, "model-keys"))}
    assert keys["hidden_size"] == ["768", "1024"]
    assert "vocab_size" not in keys


def test_equal_models(sizes: Subject) -> None:
    source = sizes.architecture.source
    same = Comparison(source, source, 1, 1, (), ())
    section = drafted(models, replace(sizes, comparison=same))
    assert "Both models have 1 parameter." in words(section)
    assert [inner.name for inner in section.sections] == ["models-configuration"]
    other = replace(same, keys=(ComparedKey("x", None, 1),))
    section = drafted(models, replace(sizes, comparison=other))
    assert "differ in 1 key" in words(section)
    assert rows(table(section, "model-keys")) == [["x", "–", "1"]]


def test_changes_of_tensors_by_layer_and_by_kind(
    tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("moved")
    model = transformers.AutoModel.from_pretrained(tiny_bert_folder)
    with torch.no_grad():
        for place, parameter in enumerate(model.encoder.layer[1].parameters()):
            parameter.flatten()[0] += 0.5 + place
    model.save_pretrained(folder)
    left, right = (open_model(parse_source(str(path))) for path in (tiny_bert_folder, folder))
    comparison = compare_models(left, right)
    section = drafted(models, Subject(left.with_formulas(), comparison=comparison))
    assert [figure.picture for figure in each(section, Figure)] == ["change"]
    layers = {row[0]: row for row in rows(table(section, "changed-modules"))}
    changes = [
        one.change
        for one in comparison.tensors
        if one.change is not None and one.name.startswith("encoder.layer.1.")
    ]
    share = hypot(*(c.difference_norm for c in changes)) / hypot(*(c.left_norm for c in changes))
    assert float(layers["encoder.layer.1"][1]) == pytest.approx(share, rel=0.05)
    assert number(layers["embeddings"][1]) == 0
    kinds = [row[0] for row in rows(table(section, "changed-kinds"))]
    assert "attention.self.query.weight" in kinds
    assert all("encoder.layer.1." in row[0] for row in rows(table(section, "changed")))


def test_nearly_all_elements_are_not_all(sizes: Subject) -> None:
    comparison = sizes.comparison
    assert comparison is not None
    tensors = [one for one in comparison.tensors if one.left is not None][:3]
    equal, ratios = (0, 1, 0), (0.5, 0.25, None)
    changes = (
        Change(equal[n], 10**6, 0.1, 0.1, ratios[n], None, 1.0, 2.0 * n * (2 - n)) for n in range(3)
    )
    found = tuple(
        replace(one, right=one.left, change=c) for one, c in zip(tensors, changes, strict=True)
    )
    section = drafted(models, replace(sizes, comparison=replace(comparison, tensors=found)))
    kinds = table(section, "changed-kinds")
    assert "In each of them, over 99.99% of the elements changed." in words(kinds.caption)
    assert "A dash marks a change without a finite ratio" in words(kinds.caption)
    assert "Changed" not in [column.title for column in kinds.columns]


def moved(folder: Path, out: Path, seed: int) -> ModelSource:
    """Return a copy of a model with other weights."""
    shutil.copytree(folder, out, dirs_exist_ok=True)
    torch.manual_seed(seed)
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    model.save_pretrained(out)
    return parse_source(str(out), "masked-lm")


def both(one: ModelSource, other: ModelSource, text: str) -> tuple[Section, OtherModelDetails]:
    """Return the section on a text in two models."""
    left, right = open_model(one), open_model(other)
    subject = subject_of(left, Sentence(text))
    assert subject.run is not None
    context = RunContext(left, recorded(left, Sentence(text)), no_progress)
    details = analyse_other_model(context, other)
    found = replace(subject, comparison=compare_models(left, right), other_model=details)
    return drafted(models, found).sections[0], details


def test_predictions_of_two_models(tiny_bert_folder: Path, tmp_path: Path) -> None:
    one, other = (moved(tiny_bert_folder, tmp_path / name, n) for n, name in enumerate("ab"))
    section, details = both(one, other, "the [MASK] sat")
    ((mine, theirs),) = details.predictions
    assert "Both read the same 5 tokens." in words(section)
    shown = rows(table(section, f"models-predicted-{mine.position}"))
    tops = zip(mine.guess.top, theirs.guess.top, strict=True)
    assert [[row[1], row[3]] for row in shown] == [[a.text, b.text] for a, b in tops]
    change = words(section.blocks[1])
    assert ("changes from" in change) == (mine.guess.top[0].text != theirs.guess.top[0].text)


def test_vectors_of_two_models_without_a_head(tiny_bert_folder: Path, tmp_path: Path) -> None:
    one, other = (moved(tiny_bert_folder, tmp_path / name, n) for n, name in enumerate("ab"))
    base = replace(one, task=find_task("base")), replace(other, task=find_task("base"))
    section, details = both(*base, "the cat")
    run, theirs = subject_of(open_model(base[0]), Sentence("the cat")).run, details.run
    assert run is not None
    assert theirs is not None
    expected = [
        float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
        for a, b in zip(run.hidden_states[-1], theirs.hidden_states[-1], strict=True)
    ]
    found = [number(row[2]) for row in rows(table(section, "models-vectors"))]
    assert found == pytest.approx(expected, abs=1e-4)
    assert "Neither model has a prediction head" in words(section)
    assert "The attention of these heads differs most" in words(section)


def test_a_model_without_weights_runs_no_sentence(tiny_bert_folder: Path) -> None:
    one = parse_source(str(tiny_bert_folder))
    section, details = both(one, parse_source("bert-base-uncased"), "the cat")
    assert details.run is None
    assert "bert-base-uncased, which has no weights" in words(section)
