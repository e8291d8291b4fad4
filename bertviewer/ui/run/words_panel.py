"""What a head over the vocabulary predicts at the selected token."""

from functools import partial

from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QLabel, QToolButton, QWidget

from bertviewer.charts.labels import token_name
from bertviewer.charts.predictions import actual_summary, candidates_table
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import GRID
from bertviewer.core.analysis.predictions import (
    Predictions,
    mask_positions,
    predicted_positions,
    predicts_next,
)
from bertviewer.core.schema.activation_run import ActivationRun
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.families import MASK_TOKENS
from bertviewer.ui.run import jobs
from bertviewer.ui.run.lens_panel import LensPanel, title_height
from bertviewer.ui.run.offers import retry
from bertviewer.ui.run.view import View
from bertviewer.ui.views.figure_view import FigureView
from bertviewer.ui.views.message import Message, Offer
from bertviewer.ui.views.run_request import RunRequest
from bertviewer.ui.widgets.labels import ElidedLabel, plain_label
from bertviewer.ui.widgets.layouts import hbox, named, split, vbox
from bertviewer.ui.widgets.progress_bar import thin_bar

MOST_MASKS = 8
"""Masks that have a button; further ones are found in the table of tokens."""


class WordsPanel(QWidget):
    """The likeliest tokens of the vocabulary, by the model and after each of its layers."""

    def __init__(self, view: View) -> None:
        super().__init__(view)
        self._view = view
        self._workspace = view.workspace
        self._request = RunRequest[Predictions | None](self._workspace, self)
        self._title = named(ElidedLabel(), "predictionTitle")
        self._masks = QWidget()
        self._mask_buttons = hbox(parent=self._masks, spacing=4)
        self._shown_masks: tuple[int, ...] | None = None
        self._hint = named(ElidedLabel(), "predictionHint")
        self._hint.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        line = hbox(self._title, self._masks, (self._hint, 1), spacing=12)
        self._message = Message("predictionMessage")
        self._busy = thin_bar("predictionProgress", self.tr("Computing"))
        self._table = FigureView(self._workspace, "predictionTable", self.tr("Most likely tokens"))
        self._lens = LensPanel(self._workspace)
        by_model = _titled(self.tr("Model output"), self._table)
        self._columns = split(by_model, self._lens, sizes=(2900, 7100))
        by_model.setContentsMargins(0, 0, 2 * GRID, 0)
        self._lens.setContentsMargins(2 * GRID, 0, 0, 0)
        self._is_compared = False
        vbox(line, self._busy, (self._columns, 1), (self._message, 1), parent=self, spacing=4)
        self._message.hide()
        self._request.finished.connect(self._show)
        self._request.late.connect(self._show_wait)

    def forget(self) -> None:
        """Want nothing more, and keep no run; what is drawn stays."""
        self._request.forget()
        self._lens.forget()

    def clear(self) -> None:
        """Say nothing above the tables."""
        self._title.clear()
        self._hint.clear()

    def refresh(self, architecture: Architecture) -> None:
        """Show what is predicted at the selected token."""
        workspace = self._workspace
        watched, run_a, token = (
            workspace.runs.watched,
            workspace.runs.watched_a,
            workspace.selection.token,
        )
        if watched is None or token is None:
            return
        self._show_masks(mask_positions(watched.run, architecture))
        if token not in predicted_positions(watched.run, architecture):
            self._request.cancel()
            first = predicted_positions(watched.run, architecture)[0]
            self._show_message(
                self.tr(
                    "This is an encoder token. Select a decoder token: the model predicts "
                    "what follows it."
                ),
                Offer(self.tr("Select the first decoder token"), partial(self._go, first)),
            )
            return
        positions = {watched: token}
        if run_a is not None:
            partner = self._view.partners().in_a
            if token in partner:
                positions[run_a] = partner[token]
        key = tuple(positions.values())
        if self._request.want_of_runs(key, partial(jobs.predictions_job, positions)):
            self._show()

    def _show(self) -> None:
        workspace, request = self._workspace, self._request
        run, architecture = workspace.runs.run, workspace.architecture
        if run is None or architecture is None:
            return
        if request.error or request.b is None:
            offer = retry(workspace, request, partial(self.refresh, architecture))
            self._show_message(request.error, offer)
            return
        self._message.hide()
        self._busy.hide()
        self._columns.show()
        b, a, run_a = request.b, request.a, workspace.runs.watched_a
        name = token_name(run, b.position)
        is_next = predicts_next(architecture)
        says = self.tr("Predicted after {0}") if is_next else self.tr("Predicted at {0}")
        self._title.setText(says.format(name))
        self._hint.setText(self._hint_of(run, b, is_next))
        self._table.show_table(candidates_table(run, b, a, run_a is not None))
        of_a = None if run_a is None or a is None else (run_a.run, a)
        self._lens.show_predictions((run, b), of_a)
        self._give_room(run_a is not None)

    def _give_room(self, is_compared: bool) -> None:
        """Widen the table for run A, and narrow it again without."""
        if is_compared != self._is_compared:
            self._is_compared = is_compared
            self._columns.setSizes([4200, 5800] if is_compared else [2900, 7100])

    def _show_wait(self) -> None:
        if self._request.b is None:
            # The words before are of another run.
            self._title.clear()
            self._columns.hide()
            self._message.show_text("")
            self._message.show()
        self._hint.setText(self.tr("Computing…"))
        self._busy.show()

    def _show_message(self, text: str, offer: Offer) -> None:
        # They may be of another token, or say that this is being computed.
        self._title.clear()
        self._hint.clear()
        self._message.show_text(text, offer)
        self._busy.hide()
        self._columns.hide()
        self._message.show()

    def _hint_of(self, run: ActivationRun, b: Predictions, is_next: bool) -> str:
        parts = [actual_summary(run, b)]
        if self._workspace.runs.watched_a is not None and self._request.a is None:
            parts.append(self.tr("this token is not in A"))
        elif not is_next and run.tokens[b.position].text not in MASK_TOKENS:
            parts.append(
                self.tr("the model sees this token; replace it with {0} to have it predicted")
                .format(_mask_of(run))
            )  # fmt: skip
        return "; ".join(part for part in parts if part)

    def _show_masks(self, places: tuple[int, ...]) -> None:
        """Offer a button for each mask of the sentence."""
        self._masks.setVisible(bool(places))
        if places != self._shown_masks:
            self._shown_masks = places
            while (item := self._mask_buttons.takeAt(0)) is not None:
                if (widget := item.widget()) is not None:
                    widget.deleteLater()
            self._mask_buttons.addWidget(QLabel(self.tr("Mask at token")))
            for place in places[:MOST_MASKS]:
                button = QToolButton()
                button.setText(str(place))
                button.setCheckable(True)
                button.setToolTip(self.tr("Select the mask at token {0}").format(place))
                button.clicked.connect(partial(self._go, place))
                self._mask_buttons.addWidget(button)
        for button, place in zip(self._masks.findChildren(QToolButton), places, strict=False):
            button.setChecked(place == self._workspace.selection.token)

    def _go(self, place: int, _checked: bool = False) -> None:
        self._workspace.selection.go(SelectionKey(token=place))
        self._show_masks(self._shown_masks or ())


def _titled(title: str, table: QWidget) -> QWidget:
    whole = QWidget()
    label = plain_label(title)
    label.setMinimumHeight(title_height())
    vbox(label, (table, 1), parent=whole, spacing=4)
    return whole


def _mask_of(run: ActivationRun) -> str:
    """Return how the model's vocabulary writes a mask."""
    is_like_roberta = any(token.text in ("<s>", "</s>") for token in run.tokens)
    return "<mask>" if is_like_roberta else "[MASK]"
