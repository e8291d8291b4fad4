"""The chapters on a run: sentence, excerpts, attention, similarity, predictions and checks."""

from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.schema.check import Check, CheckStep, Unchecked
from bertviewer.core.schema.statistics import Statistics
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.progress import no_progress
from bertviewer.report.analysis import analyse_layers, module_excerpts
from bertviewer.report.blocks import Figure, Listing, Table, Tokens
from bertviewer.report.chapters.attention import attention
from bertviewer.report.chapters.checks import MAX_FAILURES, checks
from bertviewer.report.chapters.models import models
from bertviewer.report.chapters.predictions import predictions
from bertviewer.report.chapters.random_run import random_run
from bertviewer.report.chapters.runs import runs
from bertviewer.report.chapters.sentence import sentence
from bertviewer.report.chapters.similarity import similarity, vectors
from bertviewer.report.chapters.values import values
from bertviewer.report.draft import draft_report
from bertviewer.report.options import Options
from bertviewer.report.run_details import RunContext
from bertviewer.report.subject import Subject
from tests.core.checks.small_models import small_model
from tests.report.conftest import DAY, TEXT, recorded, subject_of
from tests.report.reading import cells, drafted, each, heads, number, rows, table, words

LAYER, SELF = "encoder.layer.0", "encoder.layer.0.attention.self"
CHECK = Check(
    steps=(
        CheckStep(LAYER, "self-attention", 1e-7, 2e-6, True),
        CheckStep(LAYER, "= next hidden state", 3e-7, 2e-6, True),
        CheckStep(SELF, "head 3", None, 2e-6, False),
        CheckStep(SELF, "head 4", 2e-7, 4e-6, True),
    ),
    unchecked=(Unchecked("pooler", "a reason"), Unchecked("pooler.dense", "a reason")),
)


@pytest.fixture(scope="module")
def run(demo: Subject) -> ActivationRun:
    assert demo.run is not None
    return demo.run


def test_without_a_run_these_chapters_do_not_apply(demo: Subject, run: ActivationRun) -> None:
    every = (sentence, values, attention, similarity, vectors, predictions, runs, checks, models)
    for chapter in every:
        assert chapter(Subject(demo.architecture)) is None
    bare = Subject(demo.architecture, replace(run, hidden_states=(), check=None))
    assert values(bare) is similarity(bare) is checks(bare) is None


def test_tokens_have_ids_and_segments(demo: Subject, run: ActivationRun) -> None:
    section = drafted(sentence, demo)
    assert words(section.blocks[0]).startswith(TEXT)
    (tokens,) = each(section, Tokens)
    assert [(box.text, box.under) for box in tokens.tokens[:2]] == [
        ("[CLS]", "101 · 0"),
        ("this", "2023 · 0"),
    ]
    assert not any(box.is_second for box in tokens.tokens)
    # The segments of GPT-2 and RoBERTa are all 0; the second text is marked nevertheless.
    marked = tuple(replace(token, sentence=int(n >= 6)) for n, token in enumerate(run.tokens))
    pair = replace(demo, run=replace(run, tokens=marked))
    (tokens,) = each(drafted(sentence, pair), Tokens)
    assert [box.is_second for box in tokens.tokens] == [False] * 6 + [True] * 5


def test_a_decoder_has_no_segments_and_does_not_attend_to_padding() -> None:
    subject = subject_of(small_model("gpt2"), Sentence("the cat sat"), random=True)
    (tokens,) = each(drafted(sentence, subject), Tokens)
    assert all("·" not in box.under for box in tokens.tokens)
    (padded,) = drafted(attention, subject).sections
    assert "Without it, they do not change either, because no token attends" in words(padded)


def test_statistics_of_every_layer(demo: Subject, run: ActivationRun) -> None:
    found = table(drafted(sentence, demo), "statistics")
    titles = ["Layer", "Mean", "Std", "Min", "Max", "RMS"]
    assert [column.title for column in found.columns] == titles
    assert "Zeros, NaN and Inf are 0 in every layer." in words(found.caption)
    for layer, row in enumerate(rows(found)):
        activation = run.activation(f"encoder.layer.{layer}")
        assert activation is not None
        of = activation.statistics
        figures = (of.mean, of.std, of.min, of.max, of.rms)
        assert [*map(number, row)] == pytest.approx([layer, *figures], abs=5e-4)
    assert layer == 5
    for column in list(zip(*rows(found), strict=True))[1:]:
        assert len({len(cell.partition(".")[2]) for cell in column}) == 1


def test_nan_and_inf_are_counted(demo: Subject, run: ActivationRun) -> None:
    nothing = Statistics(10, 7, 3, 0, 0.0, 0.0, None, None)
    broken = tuple(
        replace(module, calls=(nothing,)) if module.path in ("encoder.layer.2", "") else module
        for module in run.modules
    )
    section = drafted(sentence, replace(demo, run=replace(run, modules=broken)))
    found = table(section, "statistics")
    assert [column.title for column in found.columns][-2:] == ["NaN", "Inf"]
    assert rows(found)[2] == ["2", *"–" * 5, "7", "3"]
    assert "The model’s output has no finite elements." in words(section)
    every = tuple(
        replace(module, calls=(nothing,)) if module.path.startswith("encoder.layer.") else module
        for module in run.modules
        if module.path != "encoder.layer.0"
    )
    first = next(module for module in run.modules if module.path == "encoder.layer.0")
    one = drafted(sentence, replace(demo, run=replace(run, modules=(*every, first))))
    assert "The standard deviation of each layer’s output with finite elements is" in words(one)
    assert "All modules together produced 14 NaNs and 6 infinite values." in words(section)


def test_outlier_features(demo: Subject, run: ActivationRun) -> None:
    assert rows(table(drafted(sentence, demo), "outliers"))[0][1].endswith("of 7")
    flat = tuple(np.zeros_like(state) for state in run.hidden_states)
    calm = replace(demo, run=replace(run, hidden_states=flat))
    assert "This run has none." in words(drafted(sentence, calm))


def test_the_steps_inside_a_layer(demo: Subject, run: ActivationRun) -> None:
    section = drafted(values, demo)
    assert section.title == "Inside layer 0"
    assert "the output of the layer is output.hidden_states[1]: index 0" in words(section)
    setup, code = each(section, Listing)
    assert "x = output.hidden_states[0]" in setup.lines
    assert "q = layer.attention.self.query(x)  # queries" in code.lines
    found = rows(table(section, "steps"))
    first, last = run.hidden_states[:2]
    for state, (row, following) in ((first, found[:2]), (last, found[-2:])):
        assert row[2:4] == ["[1, 11, 384]", "0 [CLS]"]
        for at, cell in enumerate((row, following)):
            assert [*map(number, cell[4:])] == pytest.approx([*state[at, :4]], abs=6e-5)
    assert [row[0] for row in found[::2]][4:7] == (
        ["Scores, head 0", "Softmax, head 0", "Weighted values, head 0"]
    )


def test_the_last_hidden_state_may_come_from_a_norm() -> None:
    subject = subject_of(small_model("gpt2"), Sentence("the cat sat"), random=True)
    text = words(drafted(values, subject))
    assert "The last state, index 2, is not the output of the last layer but of ln_f." in text


def test_excerpts_of_modules_without_steps(demo: Subject, demo_model: LoadedModel) -> None:
    context = RunContext(demo_model, recorded(demo_model, Sentence(TEXT)), no_progress)
    excerpts = tuple(module_excerpts(context, None))
    subject = replace(demo, details=replace(demo.details, inside=None, excerpts=excerpts))
    section = drafted(values, subject)
    found = table(section, "values-0")
    assert [column.title for column in found.columns] == (
        ["Token", "0", "1", "2", "3", "…", "382", "383"]
    )
    # The output of the embeddings is the input of the first layer and is printed once.
    assert [head[0] for head in heads(found)] == [
        "Output of the embeddings, input of layer 0 (hidden_states) [1, 11, 384] float32",
        "Output of layer 0 [1, 11, 384] float32",
        "Input of layer 5 (hidden_states) [1, 11, 384] float32",
        "Output of layer 5 [1, 11, 384] float32",
    ]
    plain = [cells(row) for row in found.rows if row.look == "plain"]
    assert [row[0] for row in plain[:7]] == (
        ["0 [CLS]", "1 this", "2 is", "3 a", "…", "9 sentence", "10 [SEP]"]
    )
    assert demo.run is not None
    embedded = demo.run.hidden_states[0]
    assert number(plain[0][1]) == pytest.approx(embedded[0, 0], abs=5e-7)
    assert number(plain[5][7]) == pytest.approx(embedded[9, 383], abs=5e-7)
    assert set(plain[4]) == {"…"}


def test_attention_of_chosen_layers(demo: Subject, demo_model: LoadedModel) -> None:
    def shown(subject: Subject) -> list[str]:
        return [figure.picture for figure in each(drafted(attention, subject), Figure)]

    first, last = "heads-encoder.layer.0.attention.self-0", "heads-encoder.layer.5.attention.self-0"
    # By default the layer of the head that is shown large.
    assert shown(demo) == ["entropy", first, "head"]
    context = RunContext(demo_model, recorded(demo_model, Sentence(TEXT)), no_progress)
    details = analyse_layers(demo.details, context, (5,))
    chosen = replace(demo, details=details)
    assert shown(chosen) == ["entropy", last, "head"]
    assert details.inside is not None
    assert details.inside.path == "encoder.layer.5"
    # The maps of all layers of a large model would take hundreds of megabytes.
    assert details.attention is not None
    assert details.attention.large is not None
    assert len(details.attention.measures) == 6
    large = details.attention.large.layer.number
    assert {layer.number for layer in details.attention.maps} == {0, 5, large}


def test_heads_are_counted_by_what_they_attend_to(demo: Subject) -> None:
    section = drafted(attention, demo)
    found = demo.details.attention
    assert found is not None
    assert found.large is not None
    assert (found.large.layer.number, found.large.head) == (0, 2)
    assert 0.9995 < found.measures[found.large.layer]["previous"][2] < 1
    heads = [one for each in found.kinds.values() for one in each]
    assert len(heads) == 72
    count = sum(one.kind == "special" for one in heads)
    assert f"{count} to [CLS] and [SEP]" in words(section)
    caption = next(one for one in each(section, Figure) if one.picture == "head").caption
    assert "previous token, which receives over 99.9% of its attention" in words(caption)


def test_uniform_attention_has_no_maps() -> None:
    model = small_model("bert", vocab_size=200)
    subject = subject_of(model, Sentence("the cat sat on the mat"), random=True)
    section = drafted(attention, subject)
    assert not [*each(section, Figure)]
    assert "all heads attend nearly uniformly" in words(section)
    alone = drafted(attention, subject_of(small_model("gpt2"), Sentence("a"), random=True))
    assert "Every query has a single key" in words(alone)


def test_cosines_of_distinct_tokens(demo: Subject, run: ActivationRun) -> None:
    section = drafted(similarity, demo)
    found = rows(table(section, "cosines"))
    assert len(found) == 7
    state = run.hidden_states[-1].astype(float)
    unit = state / np.linalg.norm(state, axis=1, keepdims=True)
    matrix = unit @ unit.T
    cosines = matrix[~np.eye(len(unit), dtype=bool)]
    expected = (cosines.mean(), cosines.min(), cosines.max())
    assert [*map(number, found[-1][1:])] == pytest.approx(expected, abs=1e-4)
    first, second = np.argwhere(np.triu(matrix, 1) == np.triu(matrix, 1).max())[0]
    texts = [token.text for token in run.tokens]
    pair = f"“{texts[first]}” ({first}) and “{texts[second]}” ({second})"
    assert f"the most similar pair of distinct tokens is {pair}" in words(section)
    # Two tokens have one cosine for each state.
    two = replace(run, tokens=run.tokens[:2], hidden_states=tuple(s[:2] for s in run.hidden_states))
    section = drafted(similarity, replace(demo, run=two))
    assert not [*each(section, Table), *each(section, Figure)]
    assert f"have a cosine of {matrix[0, 1]:.4f}" in words(section)
    nothing = replace(run, hidden_states=(np.zeros_like(run.hidden_states[0]),))
    section = drafted(similarity, replace(demo, run=nothing))
    assert "It is not defined here" in words(section)


def test_predictions_at_a_mask_and_after_each_layer(masked: Subject) -> None:
    section = drafted(predictions, masked)
    assert "5 random tensors: they are meaningless" in words(section)
    assert masked.run is not None
    position = [token.text for token in masked.run.tokens].index("[MASK]")
    assert rows(table(section, f"predicted-{position}"))[0][0] == "1"
    assert len(rows(table(section, f"lens-{position}"))) == 3


def test_class_scores_in_one_and_two_runs(tiny_bert_folder: Path) -> None:
    model = open_model(parse_source(str(tiny_bert_folder), "sequence-classification"))
    subject = subject_of(model, Sentence("the cat"), Sentence("the dog"))
    section = drafted(predictions, subject)
    assert len(rows(table(section, "classes"))) == 2
    assert "2 random tensors: they are meaningless" in words(section)
    assert len(rows(table(drafted(runs, subject), "runs-classes"))) == 2


def test_checks_by_class_and_failures(demo: Subject, run: ActivationRun) -> None:
    section = drafted(checks, replace(demo, run=replace(run, check=CHECK)))
    assert "1 of 4 steps is outside its tolerance" in words(section)
    assert rows(table(section, "checks")) == [
        ["BertLayer", "2", "3.0 × 10⁻⁷", "2.0 × 10⁻⁶"],
        ["BertSelfAttention", "2", "–", "2.0 × 10⁻⁶"],
    ]
    assert rows(table(section, "failures")) == [[SELF, "head 3", "–", "2.0 × 10⁻⁶"]]
    assert "Not checked (2): a reason." in words(section)
    many = tuple(replace(CHECK.steps[2], step=f"head {n}") for n in range(MAX_FAILURES + 5))
    section = drafted(checks, replace(demo, run=replace(run, check=Check(many))))
    assert len(table(section, "failures").rows) == MAX_FAILURES
    assert "And 5 more." in words(section)


def test_modules_without_a_difference_are_named(demo: Subject) -> None:
    section = drafted(checks, demo)
    assert "more comparisons show no difference at all: Embedding, Dropout." in words(section)
    assert "Relative to its tolerance, the largest is " in words(section)
    assert "Dropout" not in words(table(section, "checks"))


def test_random_weights_give_one_page() -> None:
    subject = subject_of(small_model("bert"), Sentence("the cat sat"), random=True)
    names = [chapter.name for chapter in draft_report(subject, Options(), DAY).chapters]
    assert {"sentence", "model", "parameters"} <= {*names}
    assert not {"values", "attention", "similarity", "predictions", "checks"} & {*names}
    text = words(drafted(random_run, subject))
    assert "standard deviation of 1.000" in text
    assert "a norm of 4.899, the square root of 24" in text
    chosen = draft_report(subject, Options(sections=("sentence", "attention")), DAY)
    assert [chapter.title for chapter in chosen.chapters] == ["The sentence", "Attention"]


def test_predictions_of_a_random_head_are_omitted(masked: Subject) -> None:
    (section,) = (
        chapter
        for chapter in draft_report(masked, Options(), DAY).chapters
        if chapter.name == "predictions"
    )
    assert "depend on 5 tensors that are not in the checkpoint" in words(section)
    assert not each(section, Table)
