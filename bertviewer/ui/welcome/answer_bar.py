"""The question that was asked, and what answers it, above what shows it."""

from PySide6.QtCore import Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from bertviewer.charts.theme import GRID
from bertviewer.plots.fonts import weighted
from bertviewer.ui.flat_button import flat_button
from bertviewer.ui.labels import plain_label
from bertviewer.ui.translation import translate
from bertviewer.ui.welcome.asking import Asking


class AnswerBar(QWidget):
    """A line that is there from a question until it is closed, or something else is done."""

    def __init__(self, asking: Asking, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("answerBar")
        self._asking = asking
        self._question = QLabel()
        self._question.setObjectName("askedQuestion")
        self._question.setTextFormat(Qt.TextFormat.PlainText)
        self._question.setFont(weighted(self._question.font()))
        self._answer = plain_label("")
        self._answer.setObjectName("givenAnswer")
        close = flat_button("closeAnswer", "✕", self.tr("Close the answer"))
        close.clicked.connect(asking.dismiss)
        self.setBackgroundRole(QPalette.ColorRole.Highlight)
        self.setAutoFillBackground(True)
        words = QVBoxLayout()
        words.setSpacing(0)
        words.addWidget(self._question)
        words.addWidget(self._answer)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(4 * GRID, 2 * GRID, 2 * GRID, 2 * GRID)
        layout.addLayout(words, 1)
        layout.addWidget(close, 0, Qt.AlignmentFlag.AlignTop)
        asking.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        question = self._asking.question
        self.setVisible(question is not None)
        if question is not None:
            self._question.setText(translate("questions", question.title))
            self._answer.setText(self._asking.answer or self.tr("Looking…"))
