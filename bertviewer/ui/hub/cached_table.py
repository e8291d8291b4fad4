"""The models of the hub that are on this disk, as a table."""

from collections.abc import Sequence
from datetime import datetime

from PySide6.QtCore import QObject

from bertviewer.core.hub.cache import CachedModel
from bertviewer.core.source.hub_name import HubName
from bertviewer.ui.tables import Column, Row, TableModel

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
        return self._models[self.given(row)].name

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
