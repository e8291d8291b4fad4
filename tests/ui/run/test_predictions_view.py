"""Predictions view: tokens, layers, classes and answers, and task heads that can be added."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton, QTableView, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import LineChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.explain.answers import answers_for_view
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import no_progress
from bertviewer.plots.heatmap import Heatmap
from bertviewer.plots.line_plot import LinePlot
from bertviewer.ui.jobs import model_jobs
from bertviewer.ui.jobs.model_jobs import Ran
from bertviewer.ui.run import jobs
from bertviewer.ui.run.predictions_view import offered_heads
from bertviewer.ui.run.words_panel import WordsPanel
from bertviewer.ui.state.pages import Page
from tests.ui.run.conftest import MakeView
from tests.ui.run.view_harness import PanelHarness, ViewHarness

MASKED = "the cat [MASK] on the mat"
SENTENCES = (
    "the cat sat on the mat",
    "this is a test sentence",
    "the mat is a test",
    "a cat sat on this test",
)

Open = Callable[..., Any]


@pytest.fixture(scope="session")
def trained_folder(tiny_bert_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a masked-LM BERT of two layers that was trained on ``SENTENCES``."""
    folder = tmp_path_factory.mktemp("trained")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_bert_folder)
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(11)
        model = transformers.BertForMaskedLM(
            transformers.BertConfig(
                vocab_size=200,
                intermediate_size=64,
                max_position_embeddings=64,
                hidden_dropout_prob=0.0,
                attention_probs_dropout_prob=0.0,
                **sizes,
            )
        )
        examples = [_masked_words(tokenizer, sentence) for sentence in SENTENCES]
        optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
        for _ in range(60):
            optimizer.zero_grad()
            for ids, labels in examples:
                model(input_ids=ids, labels=labels).loss.backward()
            optimizer.step()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _masked_words(tokenizer: Any, sentence: str) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sentence with each of its words masked in turn, and the words as labels."""
    ids = torch.tensor(tokenizer(sentence)["input_ids"])
    words = range(1, len(ids) - 1)
    masked = ids.repeat(len(words), 1)
    labels = torch.full_like(masked, -100)
    for row, place in enumerate(words):
        labels[row, place] = ids[place]
        masked[row, place] = tokenizer.mask_token_id
    return masked, labels


@pytest.fixture
def view(open_model: Open, make_view: MakeView, trained_folder: Path) -> ViewHarness:
    """Return the view of the trained model's predictions at a mask."""
    open_model(trained_folder, "masked-lm")
    view = make_view(Page.PREDICTIONS)
    view.run(MASKED)
    return view


def last_run(view: ViewHarness) -> ActivationRun:
    run = view.workspace.runs.run
    assert run is not None
    return run


def tokens_in(view: ViewHarness) -> list[Any]:
    return [row[1] for row in view.table("predictionTable").table()[1]]


def probabilities(view: ViewHarness, prefix: str = "") -> dict[Any, Any]:
    column = view.column("predictionTable", f"{prefix}Probability")
    return dict(zip(tokens_in(view), column, strict=True))


def lens_chart(view: ViewHarness) -> LineChart:
    return view.chart("lensPlot", LineChart)


def test_a_masked_word_is_what_the_pipeline_predicts(
    view: ViewHarness, trained_folder: Path
) -> None:
    predicted = transformers.pipeline("fill-mask", model=str(trained_folder))(MASKED, top_k=10)
    expected = {each["token_str"]: each["score"] for each in predicted}
    assert tokens_in(view) == [*expected]
    assert probabilities(view) == pytest.approx(expected, rel=1e-4)
    assert expected["sat"] > 0.9
    assert view.text("predictionTitle") == "Predicted at [MASK] (3)"
    assert view.text("randomPredictions") == ""
    # The last layer, which comes first, gives the model's own output.
    first = view.table("lensTable").rows[0]
    assert [cell.value for cell in first[1:]] == [*expected][:5]
    line = lens_chart(view).lines[0]
    assert line.label == "sat"
    assert line.values[-1] == pytest.approx(expected["sat"], rel=1e-4)


def test_a_token_that_is_not_masked(view: ViewHarness) -> None:
    view.select(token=2)
    assert view.text("predictionTitle") == "Predicted at cat (2)"
    hint = view.text("predictionHint")
    assert hint.startswith("Actual: cat, rank ")
    assert "replace it with [MASK]" in hint
    assert lens_chart(view).lines[0].label == "cat (actual)"
    view.choose("lensFigure", "rank")
    rank = view.column("predictionTable", "Rank")[tokens_in(view).index("cat")]
    assert lens_chart(view).lines[0].values[-1] == rank
    assert lens_chart(view).is_log


def test_layers_of_the_lens_and_the_tree_follow_each_other(view: ViewHarness, qtbot: QtBot) -> None:
    lens = view.find(QTableView, "lensTable")
    place = lens.visualRect(lens.model().index(1, 2)).center()
    qtbot.mouseClick(lens.viewport(), Qt.MouseButton.LeftButton, pos=place)
    view.settle()
    assert view.place.path == "bert.encoder.layer.0"
    view.select("bert.encoder.layer.1.output")
    assert [index.row() for index in lens.selectionModel().selectedRows()] == [0]
    assert view.place.path == "bert.encoder.layer.1.output"


def test_each_mask_has_a_button(view: ViewHarness) -> None:
    first = view.workspace.runs.current
    assert first is not None
    view.run("the [MASK] sat on the [MASK]")

    def masks() -> dict[str, QToolButton]:
        buttons = view.find(WordsPanel).findChildren(QToolButton)
        return {button.text(): button for button in buttons if button.text().isdigit()}

    def checked() -> list[str]:
        return [text for text, button in masks().items() if button.isChecked()]

    assert sorted(masks()) == ["2", "6"]
    assert (view.place.token, checked()) == (2, ["2"])
    masks()["6"].click()
    view.settle()
    assert view.text("predictionTitle") == "Predicted at [MASK] (6)"
    assert (view.place.token, checked()) == (6, ["6"])
    view.workspace.show_run(Ran(first, None))
    view.view.refresh()  # before the event loop deletes the other buttons
    assert masks()["3"].isChecked()
    view.settle()


@pytest.mark.parametrize("text", ["a test [MASK] on the mat", "the mat a [MASK] test"])
def test_two_runs(view: ViewHarness, text: str) -> None:
    """The mask of the second text is at another position than that of the baseline."""
    before = probabilities(view)
    view.keep()
    view.run(text)
    of_a = probabilities(view, "A, ")
    assert {token: of_a[token] for token in before} == before
    of_b, less = probabilities(view, "B, "), probabilities(view, "B − A, ")
    assert less == {token: of_b[token] - of_a[token] for token in of_a}
    assert {line.label[0] for line in lens_chart(view).lines} == {"A", "B"}
    view.click("lensA")
    assert view.table("lensTable").rows[0][1].value == "sat"
    view.select(token=2)  # another token than in A
    assert set(probabilities(view, "A, ").values()) == {None}
    assert "this token is not in A" in view.text("predictionHint")


@pytest.mark.parametrize(
    ("task", "plot"),
    [
        ("sequence-classification", None),
        ("next-sentence", None),
        ("token-classification", "labelGrid"),
        ("question-answering", "answerPlot"),
    ],
)
def test_classes(
    open_model: Open, make_view: MakeView, tiny_bert_folder: Path, task: str, plot: str | None
) -> None:
    open_model(tiny_bert_folder, task)
    view = make_view(Page.PREDICTIONS)
    run = view.run("the cat sat on the mat", "this is a test").run
    assert run.source.random_tensors
    assert view.text("randomPredictions").startswith("Random head")
    plots = [*view.view.findChildren(Heatmap), *view.view.findChildren(LinePlot)]
    visible = {each.objectName() for each in plots if each.isVisible()}
    assert visible & {"labelGrid", "answerPlot"} == ({plot} if plot else set())
    if plot is None:
        assert view.column("classTable", "Logit") == run.outputs["logits"][0].tolist()
        assert sum(view.column("classTable", "Probability")) == pytest.approx(1.0)
        assert view.text("classSummary")
        assert view.table("predictionTable").rows == ()
        return
    assert len(view.table("classTable").rows) == len(run.tokens)
    view.select(token=4)
    table = view.find(QTableView, "classTable")
    assert [index.row() for index in table.selectionModel().selectedRows()] == [4]
    table.selectRow(6)
    assert view.place.token == 6
    view.keep()  # nothing differs from the same run
    differences = [name for name in view.table("classTable").table()[0] if "B − A" in name]
    assert differences
    assert {cell for name in differences for cell in view.column("classTable", name)} == {0.0}


def test_pretraining_has_tokens_and_classes(
    open_model: Open, make_view: MakeView, tiny_bert_folder: Path
) -> None:
    open_model(tiny_bert_folder, "pretraining")
    view = make_view(Page.PREDICTIONS)
    view.run(MASKED, "this is a test")
    assert len(view.table("predictionTable").rows) == 10
    assert "The second text" in view.text("classSummary")


def test_while_it_computes_the_last_predictions_stay_under_their_title(view: ViewHarness) -> None:
    assert not view.is_visible("predictionProgress")
    view.workspace.selection.go(SelectionKey(token=2))
    view.view.refresh()
    view.find(WordsPanel).request.late.emit()  # before the event loop can run the job
    assert view.is_visible("predictionProgress")
    assert view.text("predictionHint") == "Computing…"
    assert view.text("predictionTitle") == "Predicted at [MASK] (3)"
    assert view.is_visible("predictionTable")
    view.settle()
    assert not view.is_visible("predictionProgress")
    assert view.text("predictionTitle") == "Predicted at cat (2)"


def test_an_error_replaces_the_predictions_until_the_user_tries_again(
    view: ViewHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise UserError("not enough memory")

    with monkeypatch.context() as patch:
        patch.setattr(jobs, "predictions_job", fail)
        view.select(token=2)
    assert view.text("predictionMessage") == "Not enough memory"
    assert view.text("predictionTitle") == view.text("predictionHint") == ""
    assert not view.is_visible("predictionTable")
    assert view.find(QPushButton, "predictionMessageAction").text() == "Try again"
    view.click("predictionMessageAction")
    assert view.text("predictionMessage") == ""
    assert view.text("predictionTitle") == "Predicted at cat (2)"
    assert view.is_visible("predictionTable")


def test_another_model_shows_nothing_of_the_last_one(
    panel: PanelHarness, open_model: Open, tiny_bert_folder: Path
) -> None:
    open_model(tiny_bert_folder, "masked-lm")
    panel.bring(Page.PREDICTIONS)
    panel.run(MASKED)
    assert panel.table("predictionTable").rows
    open_model(tiny_bert_folder, "pretraining")
    assert panel.table("predictionTable").rows == ()
    assert panel.table("lensTable").rows == ()


@pytest.mark.parametrize(
    ("architectures", "heads", "offered"),
    [
        (["BertModel"], ("base", "masked-lm", "pretraining"), ("masked-lm",)),
        (None, ("base", "pretraining"), ("pretraining",)),
        (
            ["BertForSequenceClassification"],
            ("base", "masked-lm", "sequence-classification"),
            ("sequence-classification", "masked-lm"),
        ),
        (["BertForMaskedLM"], ("base", "masked-lm"), ("masked-lm",)),
        (["BertForNextSentencePrediction"], ("base",), ()),
    ],
)
def test_offered_heads(
    architectures: list[str] | None, heads: tuple[str, ...], offered: tuple[str, ...]
) -> None:
    assert offered_heads({"architectures": architectures}, heads) == offered


@pytest.fixture
def open_base(open_model: Open, make_view: MakeView) -> Callable[[Path], ViewHarness]:
    """Return a function that opens a model without its head and runs a sentence."""

    def open_base(folder: Path) -> ViewHarness:
        model = open_model(folder)
        view = make_view(Page.PREDICTIONS)
        view.run(MASKED)
        assert view.text("noPredictions") == "Looking for task heads in the checkpoint…"
        view.workspace.random_heads = model_jobs.random_heads_job(model, no_progress)
        view.workspace.heads_known.emit()
        return view

    return open_base


def test_a_random_head_is_added_and_the_sentence_run_again(
    open_base: Callable[[Path], ViewHarness], tiny_bert_folder: Path
) -> None:
    view = open_base(tiny_bert_folder)
    assert "The checkpoint has no head for masked language modelling," in view.text("noPredictions")
    button = view.find(QPushButton, "openHead-masked-lm")
    assert button.text() == "Add a random masked language modelling head"
    view.click("openHead-masked-lm")
    assert last_run(view).source.task == "masked-lm"
    assert last_run(view).sentence.text == MASKED
    assert view.text("noPredictions") == ""
    assert len(view.table("predictionTable").rows) == 10


def test_a_head_of_the_checkpoint_is_not_called_random(
    open_base: Callable[[Path], ViewHarness], trained_folder: Path
) -> None:
    view = open_base(trained_folder)
    assert "random" not in view.text("noPredictions")
    button = view.find(QPushButton, "openHead-masked-lm")
    assert button.text() == "Add a masked language modelling head"
    view.click("openHead-masked-lm")
    assert view.text("randomPredictions") == ""


def test_a_cancelled_head_runs_nothing_later(
    open_base: Callable[[Path], ViewHarness], open_model: Open, tiny_bert_folder: Path
) -> None:
    view = open_base(tiny_bert_folder)
    view.find(QPushButton, "openHead-masked-lm").click()
    view.workspace.jobs.cancel()
    view.settle()
    open_model(tiny_bert_folder, "masked-lm")
    assert view.workspace.runs.run is None


def test_questions_are_about_the_predictions_in_sight(view: ViewHarness) -> None:
    predictions = view.view.topic(Page.PREDICTIONS).predictions
    assert predictions is not None
    assert predictions.position == MASKED.split().index("[MASK]") + 1
    tops = [guess.top[0].id for guess in predictions.layers]
    architecture = view.workspace.architecture
    assert architecture is not None
    answers = answers_for_view(
        "Predictions", architecture, last_run(view), None, None, (predictions,)
    )
    is_asked = any(answer.name == "early-layers" for answer in answers)
    assert is_asked == (tops[1] != tops[-1])
    view.run("the cat sat")
    shown = view.view.topic(Page.PREDICTIONS).predictions
    assert shown is not predictions
