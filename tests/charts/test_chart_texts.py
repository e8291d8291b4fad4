"""Words on charts go through Qt's translation; what strangers named does not."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QTranslator
from pytestqt.qtbot import QtBot

from bertviewer.charts.token_norms import norms_chart
from tests.charts.runs import TEXTS, make_run


class Shouting(QTranslator):
    """Says the words of charts in capitals."""

    def translate(
        self, context: str, text: str, disambiguation: str | None = None, n: int = -1
    ) -> str | None:
        del disambiguation, n
        return text.upper() if context == "charts" else None

    def isEmpty(self) -> bool:
        return False


@pytest.fixture
def translator(qtbot: QtBot) -> Iterator[Shouting]:
    del qtbot
    translator = Shouting()
    QCoreApplication.installTranslator(translator)
    yield translator
    QCoreApplication.removeTranslator(translator)


@pytest.mark.usefixtures("translator")
def test_titles_and_names_are_translated() -> None:
    chart = norms_chart(make_run())
    assert (chart.x_title, chart.y_title, chart.value_title) == ("TOKEN", "LAYER", "NORM")
    assert chart.row_names == ("EMBEDDINGS", "LAYER 0", "LAYER 1")
    assert chart.columns == TEXTS
    assert chart.column_names[1] == "it's (TOKEN 1)"
