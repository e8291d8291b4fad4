"""The window's language is Qt's."""

from PySide6.QtCore import QCoreApplication, QTranslator
from PySide6.QtWidgets import QApplication

from bertviewer.charts.token_norms import norms_chart
from bertviewer.ui.translation import translate
from tests.charts.runs import make_run


class Shouting(QTranslator):
    """Says the words of charts in capitals."""

    def translate(
        self, context: str, text: str, disambiguation: str | None = None, n: int = -1
    ) -> str | None:
        del disambiguation, n
        return text.upper() if context == "charts" else None

    def isEmpty(self) -> bool:
        return False


def test_charts_of_the_window_are_in_its_language(qapp: QApplication) -> None:
    translator = Shouting()
    QCoreApplication.installTranslator(translator)
    try:
        assert norms_chart(make_run(), translate).x_title == "TOKEN"
    finally:
        QCoreApplication.removeTranslator(translator)
    assert norms_chart(make_run(), translate).x_title == "Token"
