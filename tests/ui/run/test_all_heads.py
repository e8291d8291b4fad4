"""All heads of all layers: measures, thumbnails, and the head with the highest value."""

from typing import Any

import numpy as np
import pytest
from PySide6.QtWidgets import QToolButton

from bertviewer.charts.attention import AllHeadsChart
from bertviewer.charts.chart import GridChart
from bertviewer.core.util.errors import UserError
from bertviewer.plots.heatmap import Heatmap
from bertviewer.ui.run import jobs
from bertviewer.ui.state.pages import Page
from tests.plots.looking import click, colors_of, pixel
from tests.ui.run.attention_oracle import distances, eager_attention, entropies, shares
from tests.ui.run.conftest import MakeView
from tests.ui.run.view_harness import ViewHarness

A, B = "the cat sat on the mat", "the bank by the river was closed"


@pytest.fixture
def view(demo_view: MakeView) -> ViewHarness:
    """Return the attention view that shows all layers of a run of ``B``."""
    view = demo_view(Page.ATTENTION)
    view.run(B)
    view.click("allLayers")
    return view


def chart(view: ViewHarness) -> AllHeadsChart:
    return view.chart("allHeads", AllHeadsChart)


def test_measures_are_those_of_transformers(view: ViewHarness) -> None:
    layers = eager_attention(B)
    weights = np.array(layers)
    expected = {
        "entropy": np.array([*map(entropies, layers)]),
        "distance": np.array([*map(distances, layers)]),
        "previous token": shares(B, -1),
        "next token": shares(B, 1),
        "same token": shares(B, 0),
        "[CLS]": weights[:, :, :, 0].mean(-1),
        "[SEP]": weights[:, :, :, -1].mean(-1),
    }
    assert view.items("headMeasure") == [*expected]
    for name, figures in expected.items():
        view.choose("headMeasure", name)
        assert chart(view).values == pytest.approx(figures, abs=1e-4), name
    assert chart(view).value_title == "Attention to: [SEP]"


def test_a_click_selects_layer_and_head(view: ViewHarness) -> None:
    plot = view.find(Heatmap, "allHeads")
    click(plot, pixel(plot, 9.5, 4.5))
    view.settle()
    assert (view.place.path, view.place.head) == ("encoder.layer.4.attention.self", 9)
    large = view.chart("headPlot", GridChart)
    assert large.values == pytest.approx(eager_attention(B)[4][9], abs=1e-5)


def test_the_highest_head_is_marked_named_and_selected_by_its_button(view: ViewHarness) -> None:
    view.choose("headMeasure", "previous token")
    figures = shares(B, -1)
    layer, head = map(int, np.unravel_index(figures.argmax(), figures.shape))
    button = view.find(QToolButton, "bestHead")
    assert button.text() == f"highest: layer {layer}, head {head} · {figures.max():.3f}"
    assert button.toolTip().count("layer") == 5
    grid = view.find(Heatmap, "allHeads")
    corner = pixel(grid, head + 1, layer + 1)
    spot = grid.grab().toImage().copy(corner.x() - 10, corner.y() + 1, 9, 9)
    assert grid.theme.text in colors_of(spot)
    view.click("bestHead")
    assert view.chosen("attentionChoice") == f"layer {layer}"
    assert view.place.head == head


def test_thumbnails_change_the_picture_and_no_data(view: ViewHarness) -> None:
    assert chart(view).pictures is None
    table, grid = repr(chart(view).table()), view.find(Heatmap, "allHeads")
    before = grid.grab().toImage()
    view.click("headPictures")
    pictures = chart(view).pictures
    assert pictures is not None
    # Square roots of the weights, relative to the largest of the head.
    weights = np.array(eager_attention(B)[2][7])
    assert pictures[2][7] == pytest.approx(1 + 254 * np.sqrt(weights / weights.max()), abs=1)
    assert grid.grab().toImage() != before
    assert repr(chart(view).table()) == table


def test_two_runs(view: ViewHarness) -> None:
    view.keep()
    view.run(A)
    b, a = view.charts("allHeads", AllHeadsChart)
    mine, other = (np.array([*map(entropies, eager_attention(text))]) for text in (A, B))
    assert b.values == pytest.approx(mine, abs=1e-4)
    assert a.values == pytest.approx(other, abs=1e-4)
    view.compare("difference")
    difference = view.chart("allHeads", GridChart)
    assert difference.values == pytest.approx(mine - other, abs=1e-4)


def test_layers_are_computed_once_and_only_while_they_are_shown(
    view: ViewHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[str] = []
    compute = jobs.attention_job

    def record(layer: Any, *arguments: Any) -> Any:
        computed.append(layer.name)
        return compute(layer, *arguments)

    monkeypatch.setattr(jobs, "attention_job", record)
    button = view.find(QToolButton, "allLayers")
    button.click()
    view.run(A)
    assert computed == ["layer 0"]  # the large head
    for _ in range(2):  # hidden before the event loop can run a job
        button.click()
    view.settle()
    assert computed == ["layer 0"]
    for _ in range(3):
        view.click("allLayers")
    assert computed == ["layer 0", *(f"layer {n}" for n in range(6))]


def test_an_error_is_shown_in_place_of_the_grid(
    demo_view: MakeView, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise UserError("<b> is no attention")

    view = demo_view(Page.ATTENTION)
    view.run(B)
    monkeypatch.setattr(jobs, "attention_job", fail)
    view.click("allLayers")
    assert view.messages() == ["<b> is no attention"]
    assert not view.is_visible("bestHead")
