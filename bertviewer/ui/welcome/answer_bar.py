"""The question that was asked, and what answers it, above what shows it."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLabel, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.plots.fonts import weighted
from bertviewer.ui.settings.translation import translate
from bertviewer.ui.welcome.asking import Asking
from bertviewer.ui.widgets.buttons import flat_button
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import hbox, named, vbox


class AnswerBar(QWidget):
    """A line that is there from a question until it is closed, or something else is done."""

    def __init__(self, asking: Asking) -> None:
        super().__init__()
        self.setObjectName("answerBar")
        self._asking = asking
        self._question = named(QLabel(), "askedQuestion")
        self._question.setTextFormat(Qt.TextFormat.PlainText)
        self._question.setFont(weighted(self._question.font()))
        self._answer = named(plain_label(""), "givenAnswer")
        close = flat_button("closeAnswer", "✕", self.tr("Close the answer"))
        close.clicked.connect(asking.dismiss)
        self.setBackgroundRole(QPalette.ColorRole.Highlight)
        self.setAutoFillBackground(True)
        words = vbox(self._question, self._answer, spacing=0)
        hbox(
            (words, 1),
            (close, Qt.AlignmentFlag.AlignTop),
            parent=self,
            margins=(4 * GRID, 2 * GRID, 2 * GRID, 2 * GRID),
        )
        asking.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        question = self._asking.question
        self.setVisible(question is not None)
        if question is not None:
            self._question.setText(translate("questions", question.title))
            self._answer.setText(self._asking.answer or self.tr("Looking…"))
