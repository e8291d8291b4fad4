"""Texts of charts are translated, names of models and tokens are not."""

from collections.abc import Iterator

import pytest

from bertviewer.charts.token_charts import norms_chart
from bertviewer.charts.translation import speak
from tests.charts.runs import TEXTS, make_run


def shouted(context: str, text: str) -> str:
    assert context == "charts"
    return text.upper()


@pytest.fixture
def loud() -> Iterator[None]:
    """Translate texts to upper case."""
    speak(shouted)
    yield
    speak(None)


@pytest.mark.usefixtures("loud")
def test_titles_and_names_are_translated() -> None:
    chart = norms_chart(make_run())
    assert (chart.x_title, chart.y_title, chart.value_title) == ("TOKEN", "LAYER", "NORM")
    assert chart.row_names == ("EMBEDDINGS", "LAYER 0", "LAYER 1")
    assert chart.columns == TEXTS
    assert chart.column_names[1] == "it's (TOKEN 1)"
