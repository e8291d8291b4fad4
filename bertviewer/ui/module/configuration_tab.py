"""Configuration tab: all keys with their symbols, values, effects and meanings."""

import json
import textwrap

from PySide6.QtWidgets import QHeaderView, QWidget

from bertviewer.core.expressions.symbols import Symbol
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.sources.config_keys import KEY_MEANINGS, Effect, effect_of
from bertviewer.plots.fonts import grown
from bertviewer.ui.state.pages import PageSubject
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.widgets.layouts import vbox
from bertviewer.ui.widgets.tables import Column, Row, TableModel, make_sortable, make_table

VALUE_COLUMN, MAX_VALUE_WIDTH = 2, 150
SHORT, TIP_WIDTH, MAX_TIP_LINES = 10, 100, 20
"""Characters of a value without a tooltip and of a tooltip's line; lines of a tooltip."""


class ConfigurationTab(QWidget):
    """A table; keys that affect the selected module are bold."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__()
        self._workspace = workspace
        columns = (
            Column(self.tr("Key")),
            Column(self.tr("Symbol")),
            Column(self.tr("Value")),
            Column(self.tr("Effect")),
            Column(self.tr("Meaning")),
        )
        self._model = TableModel(columns, self)
        layout = vbox(parent=self)
        table = make_table(self._model, "configurationTable", self.tr("Configuration"))
        make_sortable(table)
        header = table.horizontalHeader()
        header.setStretchLastSection(False)
        header.setSectionResizeMode(VALUE_COLUMN, QHeaderView.ResizeMode.Interactive)
        self._table = table
        layout.addWidget(table)

    def refresh(self) -> None:
        """List the configuration of the open model."""
        row, architecture = self._workspace.selection.row, self._workspace.architecture
        if row is None or architecture is None:
            return
        symbols = {symbol.key: symbol for symbol in architecture.symbols}
        formula = formula_of(row.node, architecture)
        marked = formula.config_keys if formula else ()
        config, unused = architecture.whole_config, architecture.unused
        effects: dict[Effect, str] = {
            "": "",
            "unused": self.tr("no effect here"),
            "none": self.tr("no effect on the computation"),
        }
        # Keys with a symbol come first, then those that this model does not read.
        keys = sorted(config, key=lambda key: (key not in symbols, key not in unused))
        self._model.set_rows(
            [
                Row(
                    _cells(key, value, symbols.get(key), effects[effect_of(key, unused)]),
                    _hint(value),
                    is_bold=key in marked,
                )
                for key, value in ((key, config[key]) for key in keys)
            ]
        )
        self._table.resizeColumnToContents(VALUE_COLUMN)
        width = min(grown(MAX_VALUE_WIDTH), self._table.columnWidth(VALUE_COLUMN))
        self._table.setColumnWidth(VALUE_COLUMN, width)

    def show_subject(self, subject: PageSubject) -> None:
        """Select the row of a key."""
        rows = self._table.model()
        for number in range(rows.rowCount()):
            if rows.index(number, 0).data() == subject:
                self._table.setCurrentIndex(rows.index(number, 0))
                self._table.scrollTo(rows.index(number, 0))


def _hint(value: object) -> str:
    """Return a wrapped value that is too long for its cell, "" for a short one."""
    text = _text(value)
    if len(text) <= SHORT:
        return ""
    return "\n".join(textwrap.wrap(text, TIP_WIDTH, max_lines=MAX_TIP_LINES, placeholder=" …"))


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _cells(key: str, value: object, symbol: Symbol | None, effect: str) -> tuple[str, ...]:
    text = _text(value)
    if symbol is None:
        return key, "", text, effect, KEY_MEANINGS.get(key, "")
    return key, symbol.name, text, effect, symbol.meaning
