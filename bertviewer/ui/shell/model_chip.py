"""What is open, as one chip: name, class, size, and what its weights are."""

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLabel, QMenu, QSizePolicy, QToolButton

from bertviewer.charts.theme import GRID
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.util.numbers import short_count
from bertviewer.plots.fonts import grown, tabular, weighted
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import RIGHT, WARNING
from bertviewer.ui.theme.icons import SIZE, line_icon
from bertviewer.ui.widgets.labels import Badge, ElidedLabel, plain_tooltip
from bertviewer.ui.widgets.layouts import hbox

MOST_WIDTH, LEAST_NAME = 420, 150
HEIGHT, AROUND = 30, 12


class ModelChip(QToolButton):
    """Says what is open; a click offers other models and heads."""

    def __init__(self, workspace: Workspace, menu: QMenu) -> None:
        super().__init__()
        self._workspace = workspace
        self.setObjectName("modelChip")
        self.setMenu(menu)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.setMaximumWidth(MOST_WIDTH)
        self._name = ElidedLabel()
        self._name.setFont(weighted(self._name.font()))
        self._facts = ElidedLabel()
        self._facts.setFont(tabular(self._facts.font()))
        self._facts.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._weights = Badge()
        arrow = QLabel()
        arrow.setPixmap(line_icon("chevron-down").pixmap(QSize(SIZE, SIZE)))
        self._arrow = arrow
        layout = hbox(parent=self, margins=(3 * GRID, 0, 2 * GRID, 0), spacing=2 * GRID)
        for widget in (self._name, self._facts, self._weights, arrow):
            widget.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
            layout.addWidget(widget)
        workspace.architecture_changed.connect(self._update)
        workspace.formulas_changed.connect(self._update)
        workspace.runs.run_changed.connect(self._update)
        self._fit()
        self._update()

    def sizeHint(self) -> QSize:
        """Return the room that all of it needs; Qt calls it."""
        layout = self.layout()
        assert layout is not None
        # An elided label has no least width; its text has.
        return layout.sizeHint().boundedTo(QSize(MOST_WIDTH, self.height()))

    def minimumSizeHint(self) -> QSize:
        """Return the room of a short name and of what its weights are; Qt calls it."""
        beside = sum(mark.sizeHint().width() + 2 * GRID for mark in (self._weights, self._arrow))
        return QSize(self._name.minimumWidth() + beside + 5 * GRID, self.height())

    def event(self, event: QEvent) -> bool:
        """Draw the arrow in the new colours, and take the room of larger type; Qt calls it."""
        handled = super().event(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_arrow"):
            self._arrow.setPixmap(line_icon("chevron-down").pixmap(QSize(SIZE, SIZE)))
        elif event.type() == QEvent.Type.LayoutRequest:
            self._fit()  # the type of what stands in it is another one
        return handled

    def _fit(self) -> None:
        """Take the height of the type, and as much width for the name as it needs."""
        self.setFixedHeight(max(HEIGHT, self.fontMetrics().height() + AROUND))
        # What it is gives way before what it is called.
        width = self._name.fontMetrics().horizontalAdvance(self._name.text())
        self._name.setMinimumWidth(min(width + 1, grown(LEAST_NAME)))
        self._name.setMaximumWidth(width + 1)
        self.updateGeometry()

    def _update(self) -> None:
        architecture = self._workspace.architecture
        if architecture is None:
            self._name.setText(self.tr("No model"))
            self._facts.setText("")
            self._weights.show_text("", QPalette.ColorRole.WindowText)
            self.setAccessibleName(self.tr("No model is open. Open a model"))
            self._fit()
            return
        name, root = architecture.source.name, architecture.root
        self._name.setText(_last_part(name))
        self._facts.setText(f"{root.class_name} · {short_count(root.parameters)}")
        self._weights.show_text(*self._word(architecture))
        text = f"{name}\n{root.class_name} · {root.parameters:,} · {self._weights.text()}"
        text = "\n".join((text, *architecture.source.notices))
        self.setToolTip(plain_tooltip(text))
        self.setAccessibleName(text.replace("\n", ", "))
        self._fit()

    def _word(self, architecture: Architecture) -> tuple[str, QPalette.ColorRole]:
        source = architecture.source
        if source.weights == "random":
            return self.tr("random"), WARNING
        if source.quantization is not None and source.weights == "pretrained":
            return self.tr("quantized"), WARNING
        if source.random_tensors:
            return self.tr("partly random"), WARNING
        if source.weights == "pretrained":
            return self.tr("trained"), WARNING if source.notices else RIGHT
        return self.tr("no weights"), QPalette.ColorRole.PlaceholderText


def _last_part(name: str) -> str:
    """Return the name of a file or folder without where it is; of a hub's without its commit."""
    scheme, sign, of_hub = name.partition("://")
    if sign:
        return of_hub.partition("@")[0]
    return scheme.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or name
