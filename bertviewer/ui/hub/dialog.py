"""Dialog for opening a model of the Hugging Face Hub."""

from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import QModelIndex, Qt, Signal
from PySide6.QtGui import QPalette
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QLineEdit,
    QWidget,
)
from typing_extensions import override

from bertviewer.core.hub.cache import CachedModel
from bertviewer.core.sources.model_source import parse_hub_name
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.progress import Progress
from bertviewer.core.util.text import as_sentence
from bertviewer.ui.jobs.worker import Worker
from bertviewer.ui.theme.appearance import WARNING
from bertviewer.ui.widgets.labels import plain_label
from bertviewer.ui.widgets.layouts import Gap, named, vbox
from bertviewer.ui.widgets.tables import Column, Row, TableModel, make_sortable, make_table

SHORT = 12
"""Characters of an abbreviated commit."""


class HubDialog(QDialog):
    """A field for a name, and the downloaded models.

    ``chosen`` has the name of the model to open, ``failed`` an unexpected exception. Nothing is
    sent to the Hub. ``name`` is the initial text of the field.
    """

    chosen = Signal(str)
    failed = Signal(object)

    def __init__(self, parent: QWidget | None = None, name: str = "") -> None:
        super().__init__(parent)
        self.setObjectName("hubDialog")
        self.setWindowTitle(self.tr("Open from Hugging Face"))
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.resize(760, 440)
        # Has no parent: its thread keeps it alive until it ends.
        self._worker = Worker()
        self._name = named(QLineEdit(), "hubName", accessible_name=self.tr("Model name"))
        self._name.setPlaceholderText(self.tr("org/name or org/name@revision"))
        self._name.setClearButtonEnabled(True)
        self._message = named(plain_label(""), "hubMessage")
        self._message.setWordWrap(True)
        columns = (
            Column(self.tr("Model")),
            Column(self.tr("Revision")),
            Column(self.tr("Weights")),
            Column(self.tr("Size"), is_number=True),
            Column(self.tr("Downloaded")),
        )
        self._models: tuple[CachedModel, ...] = ()
        self._model = TableModel(columns, self)
        self._table = make_table(self._model, "hubModels", self.tr("Downloaded models"))
        make_sortable(self._table)
        # Nothing moves while the table is hidden.
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
        # A button can become the default only once it is in the dialog.
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
        """Emit ``chosen``, or show what is wrong with the name."""
        try:
            name = parse_hub_name(self._name.text())
        except UserError as error:
            self._show_message(as_sentence(str(error)), WARNING)
            return
        self.chosen.emit(str(name))
        super().accept()

    @override
    def done(self, result: int) -> None:
        self._worker.stop(0)
        super().done(result)

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

    def _on_models(self, models: Sequence[CachedModel]) -> None:
        self._models = tuple(models)
        self._model.set_rows([self._row(model) for model in models])
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
            name = self._models[self._model.number(index.row())].name
            self._name.setText(f"{name.repo}@{name.revision}")
            self._open.setEnabled(True)
            self._explain()

    def _explain(self) -> None:
        self._show_message(
            self.tr(
                "Opening a model downloads its configuration and tokenizer and reads the "
                "headers of its weights. The weights themselves are downloaded when you "
                "request them or run a sentence. No code is downloaded."
            ),
            QPalette.ColorRole.PlaceholderText,
        )

    def _show_message(self, text: str, role: QPalette.ColorRole) -> None:
        self._message.setText(text)
        self._message.setForegroundRole(role)


def _cached_models(progress: Progress) -> tuple[CachedModel, ...]:
    """List the downloaded models."""
    from bertviewer.core.hub import cache
    from bertviewer.core.hub.connection import hub_cache_folder

    progress(0, 0, "Looking for downloaded models")
    return cache.cached_models(hub_cache_folder())
