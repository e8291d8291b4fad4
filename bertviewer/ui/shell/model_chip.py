"""Model chip: name, class, size and weights of the open model, with a menu."""

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLabel, QMenu, QSizePolicy, QToolButton
from typing_extensions import override

from bertviewer.charts.theme import GRID
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.util.numbers import short_count
from bertviewer.plots.fonts import grown, tabular, weighted
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.theme.appearance import RIGHT, WARNING
from bertviewer.ui.theme.icons import SIZE, line_icon
from bertviewer.ui.widgets.labels import Badge, ElidedLabel, plain_tooltip
from bertviewer.ui.widgets.layouts import hbox

MAX_WIDTH, MIN_NAME = 420, 150
HEIGHT, AROUND = 30, 12


class ModelChip(QToolButton):
    """Shows the open model; its menu has other models and heads."""

    def __init__(self, workspace: Workspace, menu: QMenu) -> None:
        super().__init__()
        self._workspace = workspace
        self.setObjectName("modelChip")
        self.setMenu(menu)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.setMaximumWidth(MAX_WIDTH)
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

    @override
    def sizeHint(self) -> QSize:
        layout = self.layout()
        assert layout is not None
        # An elided label has no minimum width; its text has.
        return layout.sizeHint().boundedTo(QSize(MAX_WIDTH, self.height()))

    @override
    def minimumSizeHint(self) -> QSize:
        others = sum(mark.sizeHint().width() + 2 * GRID for mark in (self._weights, self._arrow))
        return QSize(self._name.minimumWidth() + others + 5 * GRID, self.height())

    @override
    def event(self, event: QEvent) -> bool:
        handled = super().event(event)
        if event.type() == QEvent.Type.PaletteChange and hasattr(self, "_arrow"):
            self._arrow.setPixmap(line_icon("chevron-down").pixmap(QSize(SIZE, SIZE)))
        elif event.type() == QEvent.Type.LayoutRequest:
            self._fit()  # the fonts of the labels have changed
        return handled

    def _fit(self) -> None:
        """Fit the height to the text size, and the width to the name."""
        self.setFixedHeight(max(HEIGHT, self.fontMetrics().height() + AROUND))
        # The description is elided before the name.
        width = self._name.fontMetrics().horizontalAdvance(self._name.text())
        self._name.setMinimumWidth(min(width + 1, grown(MIN_NAME)))
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
        self._weights.show_text(*self._weights_badge(architecture))
        text = f"{name}\n{root.class_name} · {root.parameters:,} · {self._weights.text()}"
        text = "\n".join((text, *architecture.source.notices))
        self.setToolTip(plain_tooltip(text))
        self.setAccessibleName(text.replace("\n", ", "))
        self._fit()

    def _weights_badge(self, architecture: Architecture) -> tuple[str, QPalette.ColorRole]:
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
    """Return the last part of a path, or of a Hugging Face model's name without the revision."""
    scheme, sign, of_hub = name.partition("://")
    if sign:
        return of_hub.partition("@")[0]
    return scheme.rstrip("/\\").replace("\\", "/").rpartition("/")[2] or name
