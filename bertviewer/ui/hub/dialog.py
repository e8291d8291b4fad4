"""The dialog in which a model of the hub is chosen."""

from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import QModelIndex, QObject, Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLineEdit,
    QWidget,
)

from bertviewer.core.hub.cache import CachedModel
from bertviewer.core.sources.model_source import HubName, parse_hub_name
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.core.util.text import as_sentence
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import Gap, named, vbox
from bertviewer.ui.widgets.tables import Column, Row, TableModel, make_sortable, make_table

SHORT = 12  # characters of a commit, as git shows them


class CachedTableModel(TableModel):
    """One row for each model at each commit, the newest first."""

    def __init__(self, parent: QObject | None = None) -> None:
        columns = (
            Column(self.tr("Model")),
            Column(self.tr("Revision")),
            Column(self.tr("Weights")),
            Column(self.tr("Size"), is_number=True),
            Column(self.tr("Downloaded")),
        )
        super().__init__(columns, parent)
        self._models: tuple[CachedModel, ...] = ()

    def set_models(self, models: Sequence[CachedModel]) -> None:
        """Show these."""
        self._models = tuple(models)
        self.set_rows([self._row(model) for model in models])

    def name(self, row: int) -> HubName:
        """Return the name of the model in a row, pinned to its commit."""
        return self._models[self.number(row)].name

    def _row(self, model: CachedModel) -> Row:
        commit = model.name.revision[:SHORT]
        branches = ", ".join(model.branches)
        cells = (
            model.name.repo,
            f"{branches} ({commit})" if branches else commit,
            self.tr("yes") if model.has_weights else self.tr("not yet"),
            f"{model.nbytes / 1e6:,.1f} MB",
            f"{datetime.fromtimestamp(model.modified):%Y-%m-%d %H:%M}",
        )
        return Row(cells, hint=str(model.name))


class HubDialog(QDialog):
    """A field for a name, and the models that are on this disk already.

    ``chosen`` brings the name of the one to open. Nothing is sent before that. The field
    begins with ``name``.
    """

    chosen = Signal(str)
    failed = Signal(object)

    def __init__(self, parent: QWidget | None = None, name: str = "") -> None:
        super().__init__(parent)
        self.setObjectName("hubDialog")
        self.setWindowTitle(self.tr("Open from Hugging Face"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(760, 440)
        # Nobody's child: its thread keeps it alive until it has ended.
        self._worker = Worker()
        self._name = named(QLineEdit(), "hubName", accessible_name=self.tr("Model name"))
        self._name.setPlaceholderText(self.tr("org/name or org/name@revision"))
        self._name.setClearButtonEnabled(True)
        self._message = named(plain_label(""), "hubMessage")
        self._message.setWordWrap(True)
        self._models = CachedTableModel(self)
        self._table = make_table(self._models, "hubModels", self.tr("Downloaded models"))
        make_sortable(self._table)
        # What stands above it stays in its place while there are none.
        policy = self._table.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self._table.setSizePolicy(policy)
        self._heading = plain_label(self.tr("Downloaded models, available offline:"))
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
        self._open = buttons.addButton(self.tr("Open"), QDialogButtonBox.ButtonRole.AcceptRole)
        self._open.setObjectName("hubOpen")

        vbox(
            self._name,
            self._message,
            Gap(10),
            self._heading,
            (self._table, 1),
            Gap(6),
            buttons,
            parent=self,
            margins=(16, 16, 16, 16),
            spacing=6,
        )
        # Only now: before it stands in a dialog, a button cannot be the dialog's default.
        self._open.setDefault(True)

        self._name.textEdited.connect(self._on_edited)
        self._table.selectionModel().currentRowChanged.connect(self._on_row)
        self._table.doubleClicked.connect(lambda _index: self.accept())
        buttons.accepted.connect(self.accept)
        buttons.rejected.connect(self.reject)
        self._explain()
        self._name.setText(name)
        self._open.setEnabled(bool(name))
        self._worker.start(_cached_models, self._on_models, self._on_failed)
        self._heading.setText(self.tr("Looking for downloaded models…"))
        self._name.setFocus()

    def accept(self) -> None:
        """Give the name to whoever opens it, or say what is wrong with it."""
        try:
            name = parse_hub_name(self._name.text())
        except UserError as error:
            self._say(as_sentence(str(error)), WARNING)
            return
        self.chosen.emit(str(name))
        super().accept()

    def done(self, result: int) -> None:
        """End the search too; Qt calls it however the dialog is closed."""
        self._worker.stop(0)
        super().done(result)

    def _on_models(self, models: Sequence[CachedModel]) -> None:
        self._models.set_models(models)
        self._heading.setText(
            self.tr("Downloaded models, available offline:")
            if models
            else self.tr("No downloaded Hub models yet.")
        )
        self._table.setVisible(bool(models))

    def _on_failed(self, error: BaseException) -> None:
        if isinstance(error, UserError):
            self._heading.setText(as_sentence(str(error)))
        else:
            self.failed.emit(error)

    def _on_edited(self) -> None:
        self._table.clearSelection()
        self._open.setEnabled(bool(self._name.text().strip()))
        self._explain()

    def _on_row(self, index: QModelIndex) -> None:
        if index.isValid():
            name: HubName = self._models.name(index.row())
            self._name.setText(f"{name.repo}@{name.revision}")
            self._open.setEnabled(True)
            self._explain()

    def _explain(self) -> None:
        self._say(
            self.tr(
                "Opening a model downloads its configuration and tokenizer and reads the "
                "headers of its weights. The weights themselves are downloaded when you "
                "request them or run a sentence. No code is downloaded."
            ),
            QPalette.ColorRole.PlaceholderText,
        )

    def _say(self, text: str, role: QPalette.ColorRole) -> None:
        self._message.setText(text)
        self._message.setForegroundRole(role)


def _cached_models(progress: Progress) -> tuple[CachedModel, ...]:
    """List the models of the hub that are on this disk."""
    from bertviewer.core.hub import cache
    from bertviewer.core.hub.connection import hub_cache_folder

    progress(0, 0, "Looking for downloaded models")
    return cache.cached_models(hub_cache_folder())
