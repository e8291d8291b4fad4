"""Histogram view: values and statistics of the selected module's output."""

from typing import Any

import numpy as np
import pytest
import torch
import transformers
from numpy.typing import NDArray

from bertviewer.charts.chart import HistogramChart
from bertviewer.core.sources.presets import demo_folder
from bertviewer.ui.state.pages import Page
from tests.ui.run.conftest import MakeView
from tests.ui.run.view_harness import ViewHarness

A, B = "the cat sat on the mat", "the river by the bank was closed"
PATH = "encoder.layer.2.intermediate"


@pytest.fixture
def view(demo_view: MakeView) -> ViewHarness:
    """Return the view of a module after a run of ``B``."""
    view = demo_view(Page.HISTOGRAM)
    view.run(B)
    view.select(PATH)
    return view


def chart(view: ViewHarness) -> HistogramChart:
    return view.chart("histogramPlot", HistogramChart)


def statistics(view: ViewHarness) -> dict[Any, tuple[Any, ...]]:
    return {row[0]: row[1:] for row in view.table("statisticsTable").table()[1]}


def transformers_output(text: str) -> NDArray[np.float64]:
    """Return what the module returns when transformers runs the model."""
    folder = demo_folder()
    encoding = transformers.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")
    model = transformers.AutoModel.from_pretrained(folder).eval()
    found: list[torch.Tensor] = []
    model.get_submodule(PATH).register_forward_hook(lambda *call: found.append(call[-1]))
    with torch.no_grad():
        model(**encoding)
    return found[0].double().numpy().ravel()


def test_bins_and_statistics_are_those_of_the_output(view: ViewHarness) -> None:
    values, found = transformers_output(B), chart(view)
    counts, edges = np.histogram(values.astype(np.float32), 64)
    assert found.edges == pytest.approx(edges.tolist(), rel=1e-5)
    # By its last digit, a value next to an edge may be in the next bin.
    assert np.abs(np.subtract(found.series[0].counts, counts)).sum() <= 4
    assert sum(found.series[0].counts) == values.size
    rows = statistics(view)
    for name, expected in (
        ("mean", values.mean()),
        ("std", values.std()),
        ("min", values.min()),
        ("max", values.max()),
        ("rms", np.sqrt((values**2).mean())),
    ):
        assert rows[name][0] == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert (rows["elements"][0], rows["NaN"][0], rows["Inf"][0]) == (values.size, 0, 0)
    assert rows["shape"][0] == f"[1, {values.size // 1536}, 1536]"
    assert found.series[0].mean == rows["mean"][0]
    header, _ = found.table()
    assert header == (f"Value of {PATH}, from", f"Value of {PATH}, to", "Elements")


def test_logarithmic_counts(view: ViewHarness) -> None:
    before = chart(view)
    view.click("logCounts")
    after = chart(view)
    assert (before.is_log, after.is_log) == (False, True)
    assert before.series == after.series


def test_both_runs_share_their_bins(view: ViewHarness) -> None:
    view.keep()
    view.run(A)
    found = chart(view)
    b, a = found.series
    values = transformers_output(A), transformers_output(B)
    limits = [f(f(part) for part in values) for f in (min, max)]
    assert [found.edges[0], found.edges[-1]] == pytest.approx(limits, rel=1e-5)
    assert (sum(b.counts), sum(a.counts)) == pytest.approx((1, 1))  # shares
    sizes = [part.size for part in values]
    assert statistics(view)["elements"] == (*sizes, sizes[0] - sizes[1])
    view.click("logCounts")
    assert [sum(bars.counts) for bars in chart(view).series] == sizes
    view.compare("difference")
    (bars,) = chart(view).series
    parts = [np.array(each.counts) / sum(each.counts) for each in (b, a)]
    assert bars.counts == pytest.approx((parts[0] - parts[1]).tolist())
    assert not view.is_enabled("logCounts")


def test_the_last_histogram_stays_until_the_next_is_computed(view: ViewHarness) -> None:
    before = chart(view)
    view.workspace.selection.select("encoder.layer.4.output")
    assert chart(view) is before
    view.settle()
    assert chart(view) is not before


def test_a_folded_row_shows_its_first_layer(view: ViewHarness) -> None:
    view.workspace.selection.select("encoder.layer[0–5]")
    view.settle()
    assert view.title("histogramPlot") == "Output of encoder.layer.0, the first of 0–5"


def test_a_list_of_modules_leads_to_one_that_was_called(view: ViewHarness) -> None:
    view.select("encoder.layer")
    (message,) = view.messages()
    assert "encoder.layer is a list, which is never called itself" in message
    assert not view.is_visible("statisticsTable")
    view.click("chartMessageAction")
    assert view.place.path == "encoder.layer.0"
    assert view.is_visible("statisticsTable")
    assert chart(view).series[0].total == statistics(view)["elements"][0]
