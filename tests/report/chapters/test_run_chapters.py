"""The chapters on a run: the sentence, attention, similarity, predictions, two runs, checks."""

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.core.loading.opening import open_model
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.runs.activation_cache import ActivationCache
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.schema.check import Check, CheckStep, Unchecked
from bertviewer.core.schema.statistics import Statistics
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.progress import no_progress
from bertviewer.report.analysis import analyse_layers
from bertviewer.report.blocks import Figure, Section, Tokens
from bertviewer.report.chapters.attention import attention
from bertviewer.report.chapters.checks import MAX_FAILURES, checks
from bertviewer.report.chapters.models import models
from bertviewer.report.chapters.predictions import predictions
from bertviewer.report.chapters.runs import runs
from bertviewer.report.chapters.sentence import sentence
from bertviewer.report.chapters.similarity import similarity
from bertviewer.report.pictures import ChapterDraft
from bertviewer.report.run_details import RunContext
from bertviewer.report.subject import Subject
from tests.core.checks.small_models import small_model
from tests.report.conftest import TEXT, subject_of
from tests.report.reading import cells, each, rows, said, table

LAYER = "encoder.layer.0"
SELF = "encoder.layer.0.attention.self"
CHECK = Check(
    steps=(
        CheckStep(LAYER, "self-attention", 1e-7, 2e-6, True),
        CheckStep(LAYER, "= next hidden state", 3e-7, 2e-6, True),
        CheckStep(SELF, "head 3", None, 2e-6, False),
        CheckStep(SELF, "head 4", 2e-7, 4e-6, True),
    ),
    unchecked=(Unchecked("pooler", "a reason"), Unchecked("pooler.dense", "a reason")),
)


def there(found: ChapterDraft | None) -> Section:
    assert found is not None
    return found.section


def run_of(subject: Subject) -> ActivationRun:
    assert subject.run is not None
    return subject.run


def test_without_a_run_there_are_no_such_chapters(demo: Subject) -> None:
    plain = Subject(demo.architecture)
    for chapter in (sentence, attention, similarity, predictions, runs, checks, models):
        assert chapter(plain) is None


def test_the_sentence_and_its_tokens(demo: Subject) -> None:
    section = there(sentence(demo))
    assert said(section.blocks[0]).startswith(TEXT)
    (tokens,) = each(section, Tokens)
    assert [(box.text, box.under) for box in tokens.tokens[:2]] == [
        ("[CLS]", "101 · 0"),
        ("this", "2023 · 0"),
    ]
    assert len(tokens.tokens) == 11
    assert not any(box.is_second for box in tokens.tokens)


def test_a_second_text_is_set_off_whatever_its_segment(demo: Subject) -> None:
    run = run_of(demo)
    # GPT-2's and RoBERTa's segments are all 0.
    marked = tuple(replace(token, sentence=int(n >= 6)) for n, token in enumerate(run.tokens))
    (tokens,) = each(there(sentence(replace(demo, run=replace(run, tokens=marked)))), Tokens)
    assert [box.is_second for box in tokens.tokens] == [False] * 6 + [True] * 5


def test_a_decoder_has_no_segments_and_looks_at_no_padding() -> None:
    subject = subject_of(small_model("gpt2"), Sentence("the cat sat"), random=True)
    (tokens,) = each(there(sentence(subject)), Tokens)
    assert all("·" not in box.under for box in tokens.tokens)
    (padded,) = there(attention(subject)).sections
    text = " ".join(said(block) for block in padded.blocks)
    assert "without it, none does either" in text


def test_statistics_of_every_layer_and_of_every_kind(demo: Subject) -> None:
    found = table(there(sentence(demo)), "statistics")
    assert [column.title for column in found.columns] == (
        ["Layer", "Mean", "Std", "Min", "Max", "RMS", "Zeros", "NaN", "Inf"]
    )
    assert len(found.rows) == 6
    for number, row in enumerate(rows(found)):
        activation = run_of(demo).activation(f"encoder.layer.{number}")
        assert activation is not None
        of = activation.statistics
        figures = (of.mean, of.std, of.min, of.max, of.rms)
        shown = [f"{figure:#.5g}".replace("-", "−") for figure in figures]
        assert row == [str(number), *shown, "0", "0", "0"]


def test_nan_and_inf_are_counted_and_shown_as_dashes(demo: Subject) -> None:
    nothing = Statistics(10, 7, 3, 0, 0.0, 0.0, None, None)
    broken = tuple(
        replace(module, calls=(nothing,)) if module.path in ("encoder.layer.2", "") else module
        for module in run_of(demo).modules
    )
    section = there(sentence(replace(demo, run=replace(run_of(demo), modules=broken))))
    assert rows(table(section, "statistics"))[2] == ["2", *"–" * 5, "0", "7", "3"]
    assert rows(table(section, "output")) == [[*"–" * 5, "0", "7", "3"]]
    assert "All modules together produced 14 NaNs and 6 infinite values." in said(section)


def test_outlier_features_are_listed_or_said_not_to_be_there(demo: Subject) -> None:
    section = there(sentence(demo))
    first = rows(table(section, "outliers"))[0]
    assert first[1].endswith("of 7")
    flat = tuple(np.zeros_like(state) for state in run_of(demo).hidden_states)
    calm = there(sentence(replace(demo, run=replace(run_of(demo), hidden_states=flat))))
    assert "There are none here." in said(calm)


def test_attention_of_chosen_layers(demo: Subject, demo_source: ModelSource) -> None:
    def shown(subject: Subject) -> list[str]:
        return [figure.picture for figure in each(there(attention(subject)), Figure)]

    first, last = "heads-encoder.layer.0.attention.self-0", "heads-encoder.layer.5.attention.self-0"
    assert shown(demo) == ["entropy", first, last, "head"]
    model, cache = open_model(demo_source), ActivationCache()
    run = RecordedRun(run_sentence(model, Sentence(TEXT), cache=cache), cache)
    details = analyse_layers(demo.details, RunContext(model, run, no_progress), (5,))
    chosen = replace(demo, details=details)
    assert shown(chosen) == ["entropy", last, "head"]
    assert [each.title for each in details.excerpts] == ["the embeddings", "layer 5"]
    best = rows(table(there(attention(demo)), "heads"))
    assert best == rows(table(there(attention(chosen)), "heads"))
    assert [row[0] for row in best][:3] == [
        "Entropy",
        "Distance",
        "Attention to the previous token",
    ]
    assert all(float(row[3].split()[0]) > 0 for row in best)


def test_maps_of_few_layers_alone_are_kept(demo: Subject) -> None:
    """Those of all layers take hundreds of megabytes where a model is large."""
    details = demo.details.attention
    assert details is not None
    assert details.large is not None
    assert len(details.measures) == 6
    kept = {layer.number for layer in details.maps}
    assert kept == {0, 5, details.large.layer.number}


def test_cosines_of_different_tokens(demo: Subject) -> None:
    found = rows(table(there(similarity(demo)), "cosines"))
    assert len(found) == 7
    state = run_of(demo).hidden_states[-1].astype(float)
    unit = state / np.linalg.norm(state, axis=1, keepdims=True)
    cosines = (unit @ unit.T)[~np.eye(len(unit), dtype=bool)]
    assert float(found[-1][1]) == pytest.approx(cosines.mean(), abs=1e-4)


def test_predictions_of_masks_and_their_layers() -> None:
    model = open_model(parse_source("bert-base-uncased", "masked-lm"))
    subject = subject_of(model, Sentence("a [MASK] b"), random=True)
    section = there(predictions(subject))
    assert len(section.blocks) >= 4
    position = subject.details.predictions[0].position
    best = rows(table(section, f"predicted-{position}"))
    assert best[0][0] == "1"
    lens = rows(table(section, f"lens-{position}"))
    assert len(lens) == 13


def test_classes_say_what_is_random(tiny_bert_folder: object) -> None:
    model = open_model(parse_source(str(tiny_bert_folder), "sequence-classification"))
    section = there(predictions(subject_of(model, Sentence("the cat"))))
    assert len(rows(table(section, "classes"))) == 2
    assert "2 random tensors: they are meaningless" in said(section)


def test_kinds_steps_and_crosses(demo: Subject) -> None:
    section = there(checks(replace(demo, run=replace(run_of(demo), check=CHECK))))
    assert "1 of 4 steps is outside its tolerance" in said(section)
    assert rows(table(section, "checks")) == [
        ["BertLayer", "2", "0", "3.0e−07", "2.0e−06"],
        ["BertSelfAttention", "2", "1", "–", "2.0e−06"],
    ]
    assert [row[0] for row in rows(table(section, "check-layer"))] == [
        "self-attention",
        "= next hidden state",
    ]
    assert rows(table(section, "crosses")) == [[SELF, "head 3", "–", "2.0e−06", ""]]
    assert "Not checked (2): a reason." in said(section)
    assert "by a reference instance of the same configuration" in said(section)


def test_a_long_list_of_crosses_is_cut_and_counted(demo: Subject) -> None:
    crosses = tuple(replace(CHECK.steps[2], step=f"head {n}") for n in range(MAX_FAILURES + 5))
    section = there(checks(replace(demo, run=replace(run_of(demo), check=Check(crosses)))))
    assert len(table(section, "crosses").rows) == MAX_FAILURES
    assert "And 5 more." in said(section)


def test_the_number_of_steps_of_the_layers_is_explained(demo: Subject) -> None:
    section = there(checks(demo))
    assert "6 layers were checked, in 30 steps: attention" in said(section)
    assert cells(table(section, "checks").rows[0])
