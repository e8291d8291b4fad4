"""What is what: a page that helps without a connection."""

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QWidget,
)

from bertviewer.charts.theme import GRID
from bertviewer.ui.labels import blank_page, heading_label, plain_label
from bertviewer.ui.layouts import in_column, named, scrolled
from bertviewer.ui.translation import QT_TRANSLATE_NOOP, translate

SIZE = (560, 640)

PARTS: tuple[tuple[str, str], ...] = (
    (QT_TRANSLATE_NOOP("help", "Structure, at the left"),
     QT_TRANSLATE_NOOP("help",
        "Every module of the model as torch nests them. Equal layers stand in one row, as 0–11; "
        "open it to see each. What is selected there is what everything else shows.")),
    (QT_TRANSLATE_NOOP("help", "The middle"),
     QT_TRANSLATE_NOOP("help",
        "The selected module: the map of what goes on in it, its formula with its own sizes, its "
        "tensors and their values, the walk from the tokens to the last layer, what other sizes "
        "would give, the configuration, and its source code.")),
    (QT_TRANSLATE_NOOP("help", "Module, at the right"),
     QT_TRANSLATE_NOOP("help",
        "What the selected module is in a sentence, how many parameters it has and why, what it "
        "costs, and what it gave in the last run. Names there are links.")),
    (QT_TRANSLATE_NOOP("help", "Run, below"),
     QT_TRANSLATE_NOOP("help",
        "A sentence, its tokens, and what it does to the model: statistics by layer, attention, "
        "predictions. A click in any picture selects the layer, token or head for all of them.")),
    (QT_TRANSLATE_NOOP("help", "Parameters and tensors"),
     QT_TRANSLATE_NOOP("help",
        "Parameters are numbers that are learnt; a tensor holds many of them. A tied tensor has "
        "several names and counts once.")),
    (QT_TRANSLATE_NOOP("help", "Letters in formulas"),
     QT_TRANSLATE_NOOP("help",
        "V, D, L and others stand for numbers of the configuration: D is hidden_size. A count is "
        "written in letters, with the numbers put in, and its result, which equals the real count. "
        "Where a condition stands below, it holds under that condition.")),
    (QT_TRANSLATE_NOOP("help", "Multiply-adds and FLOPs"),
     QT_TRANSLATE_NOOP("help",
        "One multiply-add is a multiplication and an addition: two FLOPs. Matrix products alone "
        "are counted.")),
    (QT_TRANSLATE_NOOP("help", "Trained and random"),
     QT_TRANSLATE_NOOP("help",
        "A preset has no weights. What is run with random ones says so everywhere, since no figure "
        "of it comes from training; so does a checkpoint that lacks some of its tensors.")),
    (QT_TRANSLATE_NOOP("help", "Check this step"),
     QT_TRANSLATE_NOOP("help",
        "What a module gave is computed again in float64 by plain sums and products. The largest "
        "difference stands beside what rounding alone may do.")),
    (QT_TRANSLATE_NOOP("help", "Run A"),
     QT_TRANSLATE_NOOP("help",
        "A run that is kept, to compare the next ones with; the newest run is called B then.")),
    (QT_TRANSLATE_NOOP("help", "Head"),
     QT_TRANSLATE_NOOP("help",
        "One of those of an attention that look at the tokens side by side; or the head of a "
        "model, with which a task is solved, as masked language modelling.")),
)  # fmt: skip


class WhatIsWhat(QDialog):
    """A page to read, with a heading for each thing."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("whatIsWhat")
        self.setWindowTitle(self.tr("What is what"))
        self.resize(*SIZE)
        page = blank_page()
        lines = in_column(on=page, margins=(4 * GRID, 2 * GRID, 4 * GRID, 4 * GRID), spacing=GRID)
        for title, text in PARTS:
            lines.addWidget(heading_label(translate("help", title)))
            lines.addWidget(plain_label(translate("help", text)))
        lines.addStretch(1)
        area = named(scrolled(page), "whatIsWhatPage", says=self.windowTitle())
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        in_column((area, 1), buttons, on=self, margins=None)
        area.setFocus(Qt.FocusReason.PopupFocusReason)  # the arrow keys turn the page


def show_what_is_what(window: QWidget) -> None:
    """Open the page beside a window, which stays in use."""
    page = WhatIsWhat(window)
    page.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    page.show()
