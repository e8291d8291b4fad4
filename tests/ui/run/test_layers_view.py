"""Layers view: statistics of parts and of classes of tokens, and outlier features."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest
from msgspec.structs import replace
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QMenu, QToolButton
from pytestqt.qtbot import QtBot

from bertviewer.charts.chart import GridChart, Line, LineChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.core.analysis.outliers import outlier_features
from bertviewer.core.analysis.tokens import token_classes
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.statistics import STATISTIC_NAMES
from bertviewer.ui.run.layer_panels import OutlierBar
from bertviewer.ui.run.run_view import RunCache
from bertviewer.ui.state.pages import Page
from tests.ui.run.conftest import MakeView
from tests.ui.run.view_harness import ViewHarness

TEXT = "the cat sat on the mat"
TITLES = ("std of each layer’s output", "Token norms ‖h‖ by layer")


@pytest.fixture
def view(demo_view: MakeView) -> ViewHarness:
    """Return the view after a run of ``TEXT``."""
    view = demo_view(Page.LAYERS)
    view.run(TEXT)
    return view


def lines(view: ViewHarness) -> Sequence[Line]:
    return view.chart("layerPlot", LineChart).lines


def labels(view: ViewHarness) -> list[str]:
    return [line.label for line in lines(view)]


def grid(view: ViewHarness) -> GridChart:
    return view.chart("tokenHeatmap", GridChart)


def titles(view: ViewHarness) -> tuple[str, str]:
    return view.title("layerPlot"), view.title("tokenHeatmap")


def last_run(view: ViewHarness) -> ActivationRun:
    run = view.workspace.runs.run
    assert run is not None
    return run


def token_norms(view: ViewHarness, part: str) -> list[list[float]]:
    """Return the norms of each layer's part in the last run."""
    found = [last_run(view).activation(f"encoder.layer.{n}{part}") for n in range(6)]
    return [each.token_norms.tolist() for each in found if each and each.token_norms is not None]


def test_choices(view: ViewHarness) -> None:
    assert view.items("statisticChoice") == [
        *(*STATISTIC_NAMES, "mean ± std", "mean ± std alone"),
    ]
    assert view.chosen("statisticChoice") == "std"
    parts = view.items("partChoice")
    assert parts[:4] == ["selection", "layer output", "attention", "attention.self"]
    assert "output.dense" in parts
    assert view.items("tokenClassChoice") == [
        *("all tokens", "content", "[CLS]", "[SEP]", "all token classes"),
    ]
    assert titles(view) == TITLES


def test_the_title_names_layers_with_nan(view: ViewHarness) -> None:
    recorded = view.workspace.runs.current
    assert recorded is not None

    def title(*layers: int) -> str:
        """Return the title for a run with NaN in these layers."""
        paths = [f"encoder.layer.{n}" for n in layers]
        modules = tuple(
            replace(module, calls=tuple(replace(call, nan_count=3) for call in module.calls))
            if module.path in paths
            else module
            for module in recorded.run.modules
        )
        view.show_run(replace(recorded, run=replace(recorded.run, modules=modules)))
        return titles(view)[0]

    assert title(3, 4, 5) == f"{TITLES[0]} · NaN or Inf in layers 3–5"
    assert title() == TITLES[0]
    title(2)
    view.keep()
    assert title(1, 5) == (f"{TITLES[0]} · A: NaN or Inf in layer 2; B: NaN or Inf in layers 1, 5")


def test_the_part_follows_the_selection_until_one_is_chosen(view: ViewHarness) -> None:
    view.select("encoder.layer.2.intermediate")
    assert labels(view) == ["encoder.layer: output", "encoder.layer: intermediate"]
    assert grid(view).values.shape == (7, 8)
    view.choose("partChoice", "attention.self")
    (line,) = lines(view)
    stds = [last_run(view).activation(f"encoder.layer.{n}.attention.self") for n in range(6)]
    assert list(line.values) == [each.statistics.std for each in stds if each]
    assert grid(view).values.tolist() == token_norms(view, ".attention.self")
    assert titles(view) == (
        "std of attention.self in each layer",
        "Token norms of attention.self by layer",
    )
    view.select("encoder.layer.4.output")
    assert lines(view) == (line,)


def test_mean_with_its_band_is_of_the_selected_part_alone(view: ViewHarness) -> None:
    view.select("encoder.layer.2.output")
    view.choose("statisticChoice", "mean ± std")
    (line,) = lines(view)
    assert line.label == "encoder.layer: output"
    assert None not in (line.low, line.high, line.min, line.max)
    view.choose("statisticChoice", "mean ± std alone")
    (alone,) = lines(view)
    assert (alone.low, alone.high, alone.min, alone.max) == (line.low, line.high, None, None)


@pytest.mark.parametrize("part", ["layer output", "attention.output"])
def test_classes_of_tokens_are_measured_once(view: ViewHarness, qtbot: QtBot, part: str) -> None:
    view.choose("partChoice", part)
    view.choose("tokenClassChoice", "all token classes")
    assert labels(view) == ["content", "[CLS]", "[SEP]"]
    with qtbot.assertNotEmitted(view.workspace.jobs.worker.busy_changed):
        view.choose("statisticChoice", "rms")
        view.choose("tokenClassChoice", "[CLS]")
    (line,) = lines(view)
    norms = token_norms(view, "" if part == "layer output" else f".{part}")
    # The root mean square of one vector is its norm over the root of its width.
    assert line.values == pytest.approx([layer[0] / 384**0.5 for layer in norms], rel=1e-5)
    before = lines(view)
    view.run("a dog")
    assert labels(view) == ["[CLS]"]
    assert lines(view) != before


def test_both_sentences_of_a_pair_are_classes_in_place_of_their_content(view: ViewHarness) -> None:
    view.run("the cat sat", "a dog")
    view.choose("tokenClassChoice", "all token classes")
    names = {kind.label for kind in token_classes(last_run(view))}
    assert set(labels(view)) == names - {"all tokens", "content"}


def test_classes_of_both_runs(view: ViewHarness) -> None:
    view.keep()
    view.run("a dog barked")
    view.choose("tokenClassChoice", "[SEP]")
    assert labels(view) == ["B · [SEP]", "A · [SEP]"]
    view.compare("difference")
    (line,) = lines(view)
    assert None not in line.values


def test_a_slow_measurement_is_announced_until_it_is_not_needed(view: ViewHarness) -> None:
    view.find(QComboBox, "tokenClassChoice").setCurrentText("content")
    view.find(RunCache).late.emit()  # before the event loop can run the job
    assert titles(view) == ("Computing…", TITLES[1])
    view.choose("tokenClassChoice", "all tokens")
    assert titles(view) == TITLES
    view.choose("tokenClassChoice", "content")
    assert titles(view) == TITLES
    assert labels(view) == ["content"]


def test_two_runs_over_each_other_and_side_by_side(view: ViewHarness) -> None:
    first = last_run(view)
    view.keep()
    view.run("the cat sat on the old mat")
    assert {(line.label[0], line.style) for line in lines(view)} == {
        ("A", "dashed"),
        ("B", "solid"),
    }
    b, a = view.charts("tokenHeatmap", GridChart)
    assert (a.values.shape, b.values.shape) == ((7, 8), (7, 9))
    assert a.levels == b.levels is not None
    view.compare("difference")
    mine, other = np.array(last_run(view).token_norms), np.array(first.token_norms)
    values = grid(view).values
    assert values[:, 1] == pytest.approx(mine[:, 1] - other[:, 1])
    # "old" is not in A, and "mat" is at another position there.
    assert np.isnan(values[:, 6]).all()
    assert values[:, 7] == pytest.approx(mine[:, 7] - other[:, 6])
    view.workspace.runs.drop()
    view.settle()
    assert {line.style for line in lines(view)} == {"solid"}
    assert len(view.panel("tokenHeatmap").charts) == 1


def test_another_model(view: ViewHarness, open_model: Callable[..., object]) -> None:
    view.choose("tokenClassChoice", "[CLS]")
    view.choose("partChoice", "attention.self")
    open_model("albert-base-v2")
    view.run(TEXT)
    assert view.chosen("partChoice") == "selection"
    assert view.chosen("tokenClassChoice") == "[CLS]"
    (line,) = lines(view)
    assert len(line.values) == 12
    view.choose("partChoice", "albert_layers.0.ffn")
    assert grid(view).values.shape[0] == 12
    assert np.isfinite(grid(view).values).all()
    assert view.items("tokenClassChoice")[:-1] == [
        kind.label for kind in token_classes(last_run(view))
    ]


def chips(view: ViewHarness) -> list[QToolButton]:
    return view.find(OutlierBar).findChildren(QToolButton, "outlierFeature")


def test_outlier_features_are_named(view: ViewHarness) -> None:
    features = outlier_features(last_run(view))
    assert features
    assert [chip.text() for chip in chips(view)] == [str(f.index) for f in features][:8]
    assert f"Feature {features[0].index}: in 7 of 7 hidden states" in chips(view)[0].toolTip()
    actions = view.find(QMenu, "outlierMenu").actions()
    assert [action.data() for action in actions] == [f.index for f in features]


def test_a_feature_is_shown_and_left(view: ViewHarness, qtbot: QtBot) -> None:
    chip = chips(view)[0]
    feature = int(chip.text())
    states = [state[:, feature].astype(np.float64) for state in last_run(view).hidden_states]
    chip.click()
    view.settle()
    assert view.place.feature == feature
    line, limits = lines(view)
    assert line.values == pytest.approx([state.mean() for state in states])
    assert line.max == tuple(state.max() for state in states)
    assert limits.high is not None
    assert (grid(view).values == np.stack(states)).all()
    assert grid(view).is_signed
    assert not view.is_enabled("statisticChoice")
    view.choose("tokenClassChoice", "[CLS]")
    assert lines(view)[0].values == tuple(state[0] for state in states)
    # A click on a cell selects it, and the feature stays.
    view.panel("tokenHeatmap").plot.clicked.emit(grid(view).key(3, 2))
    view.settle()
    assert view.place == SelectionKey("encoder.layer.2", 2, None, feature)

    def escape() -> None:
        view.window.activateWindow()
        chip.setFocus()
        qtbot.keyClick(chip, Qt.Key.Key_Escape)

    for leave in (chip.click, escape, partial(view.click, "leaveFeature")):
        assert chip.isChecked()
        leave()
        view.settle()
        assert view.place == SelectionKey("encoder.layer.2", 2)
        assert not chip.isChecked()
        assert view.is_enabled("statisticChoice")
        assert not grid(view).is_signed
        view.select(feature=feature)


def test_a_feature_of_both_runs(view: ViewHarness) -> None:
    view.keep()
    view.run("a dog barked")
    view.select(feature=3)
    assert labels(view) == ["B · feature 3", "B · all features ± 6 std", "A · feature 3"]
    assert len(view.panel("tokenHeatmap").charts) == 2


def test_as_many_features_as_fit_are_shown(view: ViewHarness) -> None:
    bar = view.find(OutlierBar)
    counts = []
    for width in (120, 300, 700):
        bar.setFixedWidth(width)
        view.settle()
        bar.resize(width, bar.height())
        shown = [chip for chip in chips(view) if not chip.isHidden()]
        counts.append(len(shown))
    assert counts[0] < counts[1] < counts[2] == len(chips(view))
