"""What can be chosen of a run over many sentences, as controls one below the other."""

from pathlib import Path

from msgspec.structs import replace
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QFileDialog,
    QFormLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QSpinBox,
    QToolButton,
    QWidget,
)

from bertviewer.charts.theme import GRID
from bertviewer.core.corpus.options import BATCH_TOKENS, MAX_SHARDS, CorpusOptions
from bertviewer.core.corpus.records import COLUMN
from bertviewer.ui.corpus.data_list import DataList
from bertviewer.ui.corpus.options import Wishes, proposed_folder
from bertviewer.ui.widgets.layouts import STRETCH, hbox, named, number_field, vbox

MOST = 2**31 - 1
"""What a field of Qt's can hold."""
_PLAIN = (".txt", ".text", ".gz", "")
"""Endings of files that have no columns."""


class Choosing(QWidget):
    """``changed`` tells of every change by a person, ``folder_changed`` of the folder's as well.

    ``more_toggled`` says that the choices that few people need came into sight, or went.
    """

    changed = Signal()
    folder_changed = Signal()
    more_toggled = Signal(bool)

    def __init__(self, *, offers_random: bool) -> None:
        super().__init__()
        self._offers_random = offers_random
        self._rest = CorpusOptions()
        self._is_proposed = True
        self.data = DataList()
        self._folder = self._field("corpusFolder", self.tr("Output folder"))
        self._choose = named(QPushButton(self.tr("C&hoose…")), "corpusChooseFolder")
        self._choose.setToolTip(
            self.tr("Choose the output folder. An unfinished run in it is resumed.")
        )
        self._choose.setAutoDefault(False)
        self._column = self._field(
            "corpusColumn",
            self.tr("Column of JSONL, CSV or Parquet files that holds the sentences"),
        )
        self._column.setPlaceholderText(COLUMN)
        all_of_them = self.tr("all")
        self._limit = self._number(
            "corpusLimit", self.tr("Maximum number of sentences"), all_of_them
        )
        self._random = named(
            QCheckBox(self.tr("Random weights (results are meaningless)")), "corpusRandom"
        )
        self._random.setToolTip(self.tr("This model has no trained weights"))
        self._random.setVisible(offers_random)
        self._random.toggled.connect(self.changed)
        self._more = self._make_more()
        self._button = self._make_more_button()
        self._form = QFormLayout()
        self._lay_out()
        self.data.changed.connect(self._on_data)
        self._folder.textEdited.connect(self._on_folder)
        self._choose.clicked.connect(self._choose_folder)

    @property
    def wishes(self) -> Wishes:
        """What is chosen."""
        choices = replace(
            self._rest,
            column=self._column.text().strip() or None,
            batch_size=self._batch_size.value() or None,
            batch_tokens=self._batch_tokens.value(),
            max_tokens=self._max_tokens.value() or None,
            limit=self._limit.value() or None,
            shards=self._shards.value() or None,
            modules=self._modules.text().strip() or "*",
            random_weights=self._offers_random and self._random.isChecked(),
        )
        return Wishes(self.data.files, self._folder.text().strip(), choices)

    def show_wishes(self, wishes: Wishes) -> None:
        """Show what is wished for, without saying that it changed."""
        self.data.show_files(wishes.files)
        self._folder.setText(wishes.folder)
        self._is_proposed = wishes.folder in ("", proposed_folder(wishes.files))
        self.show_choices(wishes.choices)

    def show_choices(self, choices: CorpusOptions) -> None:
        """Show other choices, without saying that they changed."""
        self.blockSignals(True)
        self._rest = choices
        self._column.setText(choices.column or "")
        self._modules.setText("" if choices.modules == "*" else choices.modules)
        self._batch_tokens.setValue(choices.batch_tokens)
        for field, value in (
            (self._limit, choices.limit),
            (self._batch_size, choices.batch_size),
            (self._max_tokens, choices.max_tokens),
            (self._shards, choices.shards),
        ):
            field.setValue(value or 0)
        self._random.setChecked(choices.random_weights)
        usual = CorpusOptions(
            choices.column, limit=choices.limit, random_weights=choices.random_weights
        )
        self._button.setChecked(choices != replace(usual, device=choices.device))
        self._show_column()
        self.blockSignals(False)

    def _make_more(self) -> tuple[tuple[str, QWidget], ...]:
        """Return the choices that few people need."""
        none = self.tr("no limit")
        self._batch_tokens = self._number(
            "corpusBatchTokens", self.tr("Maximum tokens per batch, including padding")
        )
        self._batch_tokens.setMinimum(1)
        self._batch_tokens.setValue(BATCH_TOKENS)
        self._batch_size = self._number(
            "corpusBatchSize", self.tr("Maximum sentences per batch"), none
        )
        self._max_tokens = self._number(
            "corpusMaxTokens",
            self.tr("Longer sentences are truncated to this many tokens"),
            self.tr("model limit"),
        )
        self._shards = self._number(
            "corpusShards",
            self.tr(
                "Number of parts the data is split into; a resumed run computes the missing ones"
            ),
            self.tr("automatic"),
        )
        self._shards.setMaximum(MAX_SHARDS)
        self._modules = self._field(
            "corpusModules", self.tr("Modules to measure, as a pattern of their paths")
        )
        self._modules.setPlaceholderText("*")
        return (
            (self.tr("&Tokens per batch"), self._batch_tokens),
            (self.tr("Sentences per &batch"), self._batch_size),
            (self.tr("Max t&okens per sentence"), self._max_tokens),
            (self.tr("&Modules"), self._modules),
            (self.tr("&Shards"), self._shards),
        )

    def _make_more_button(self) -> QToolButton:
        button = named(
            QToolButton(),
            "corpusMore",
            tooltip=self.tr("Batch size, truncation, modules and shards"),
        )
        button.setText(self.tr("Advanced"))
        button.setCheckable(True)
        button.setAutoRaise(True)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        button.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

        button.toggled.connect(self._show_more)
        return button

    def _show_more(self, is_open: bool) -> None:
        arrow = Qt.ArrowType.DownArrow if is_open else Qt.ArrowType.RightArrow
        self._button.setArrowType(arrow)
        for _, control in self._more:
            self._form.setRowVisible(control, is_open)
        self.more_toggled.emit(is_open)

    def _lay_out(self) -> None:
        form = self._form
        form.setHorizontalSpacing(3 * GRID)
        form.setVerticalSpacing(2 * GRID)
        form.setFieldGrowthPolicy(QFormLayout.FieldGrowthPolicy.ExpandingFieldsGrow)
        label = QLabel(self.tr("&Data"))
        label.setBuddy(self.data.list)
        form.addRow(label, self.data)
        form.addRow(self.tr("Co&lumn"), self._column)
        folder = QLabel(self.tr("Output &folder"))
        folder.setBuddy(self._folder)
        form.addRow(folder, hbox((self._folder, 1), self._choose, spacing=2 * GRID))
        form.addRow(self.tr("S&entences"), self._limit)
        form.addRow("", self._random)
        form.addRow("", hbox(self._button, STRETCH))
        for words, control in self._more:
            form.addRow(words, control)
        vbox(form, parent=self)
        self._show_more(False)
        self._show_column()

    def _field(self, name: str, purpose: str) -> QLineEdit:
        field = named(QLineEdit(), name, accessible_name=purpose, tooltip=purpose)
        field.textEdited.connect(self.changed)
        return field

    def _number(self, name: str, purpose: str, nothing: str = "") -> QSpinBox:
        field = number_field(name, purpose)
        field.setRange(0, MOST)
        field.setSpecialValueText(nothing)
        field.setKeyboardTracking(True)
        field.valueChanged.connect(self.changed)
        return field

    def _show_column(self) -> None:
        """Ask for a column where a file may have some."""
        suffixes = {Path(file.removesuffix(".gz")).suffix.lower() for file in self.data.files}
        is_wanted = bool(suffixes - set(_PLAIN)) or bool(self._column.text())
        self._form.setRowVisible(self._column, is_wanted)

    def _on_data(self) -> None:
        self._show_column()
        if self._is_proposed:
            self._folder.setText(proposed_folder(self.data.files))
            self.folder_changed.emit()
        self.changed.emit()

    def _on_folder(self) -> None:
        self._is_proposed = not self._folder.text()
        self.folder_changed.emit()

    def _choose_folder(self) -> None:
        folder = QFileDialog.getExistingDirectory(
            self,
            self.tr("Choose a new output folder, or one with an unfinished run"),
            self._folder.text(),
        )
        if folder:
            self._folder.setText(folder)
            self._is_proposed = False
            self.folder_changed.emit()
            self.changed.emit()
