"""Attention view: small charts of a layer's heads or measures of all layers, and one large head."""

from collections.abc import Sequence
from functools import partial
from math import log

from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QWidget
from typing_extensions import override

from bertviewer.charts.attention import (
    AttentionPair,
    RunAttention,
    attention_pair,
    head_chart,
    heads_chart,
)
from bertviewer.charts.chart import HeadsChart
from bertviewer.charts.labels import token_name
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import GRID, SMALL
from bertviewer.core.analysis.attention_layers import AttentionLayer, attention_layers, shown_layer
from bertviewer.core.analysis.attention_maps import most_attended, most_attending
from bertviewer.core.replay.recorded_run import RecordedRun
from bertviewer.core.util.numbers import count_text
from bertviewer.core.util.text import upper_first
from bertviewer.plots.arc_plot import ArcPlot
from bertviewer.plots.fonts import sized
from bertviewer.plots.head_grid import HeadGrid
from bertviewer.plots.token_matrix import TokenMatrix
from bertviewer.ui.run import jobs
from bertviewer.ui.run.all_heads import AllHeads
from bertviewer.ui.run.attention_controls import (
    HeadsChoice,
    LayerChoice,
    Picture,
    PictureChoice,
    RootScaleCheck,
)
from bertviewer.ui.run.run_view import RunResults, RunView, ViewTopic, show_view_action
from bertviewer.ui.state.pages import Page
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.data_view import Notice, Query
from bertviewer.ui.widgets.buttons import tool_button
from bertviewer.ui.widgets.labels import ElidedLabel
from bertviewer.ui.widgets.layouts import ResponsiveSplitter, named, stacked, vbox

MAX_NAMED = 5
"""Tokens that are named below the chart."""


class AttentionView(RunView[RunResults[RunAttention]]):
    """The heads of the selected layer, or measures of all layers; and one head large."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._layers: tuple[AttentionLayer, ...] = ()
        self._layers_of: RecordedRun | None = None
        self._layer: AttentionLayer | None = None
        self._result: RunResults[RunAttention] | None = None
        self._pair: AttentionPair | None = None
        self._large: AttentionPair | None = None  # as it is drawn large
        # What is drawn: 512 tokens take a while.
        self._charts: tuple[object, tuple[HeadsChart, HeadsChart | None]] | None = None
        self._drawn_heads: object = None
        self._drawn_head: object = None
        self._choice = LayerChoice()
        tip = self.tr("Entropy or distance of every head in every layer")
        self._all = tool_button("allLayers", self.tr("All layers"), tip, is_checkable=True)
        self._root = RootScaleCheck()
        self._picture = PictureChoice()
        self._heads = ChartPanel(workspace, self.tr("Heads"), HeadGrid, (self._choice, self._all))
        self.display = self._heads
        grid = self._heads.plot
        assert isinstance(grid, HeadGrid)
        grid.setObjectName("headGrid")
        grid.captions_changed.connect(self._set_heads_title)
        self._all_heads = AllHeads(workspace)
        self._shown = HeadsChoice()
        self._head = HeadPanel(workspace, (self._shown, self._picture, self._root))
        self._head.show_as(self._picture.picture)
        self._pages = stacked(self._heads, self._all_heads)
        self._pages.setContentsMargins(0, 0, 2 * GRID, 0)
        self._head.setContentsMargins(2 * GRID, 0, 0, 0)
        sides = ResponsiveSplitter(self._pages, self._head, (1050, 1000))
        vbox(sides, parent=self, margins=(0, GRID, 0, 0))
        self._choice.chosen.connect(self._on_chosen)
        self._all_heads.chosen.connect(self._on_chosen)
        self._all.toggled.connect(self._on_all)
        self._root.toggled.connect(self._draw_later)
        self._shown.currentIndexChanged.connect(self._draw_later)
        self._picture.picked.connect(self._head.show_as)
        workspace.architecture_changed.connect(self._on_architecture)

    @override
    def topic(self, title: str) -> ViewTopic:
        return ViewTopic(title, None if self._pair is None else self._pair.b.maps)

    @override
    def query(self) -> Query[RunResults[RunAttention]] | Notice | None:
        current, architecture = self.workspace.runs.current, self.workspace.architecture
        if current is None or architecture is None:
            return None
        if self._layers_of is not current:
            self._layers_of = current
            self._layers = attention_layers(architecture, current.run)
        path = self.workspace.selection.place.path or ""
        self._layer = shown_layer(architecture, self._layers, path, self._layer)
        for control in (self._choice, self._all):
            control.setVisible(self._layer is not None)
        if self._layer is None:
            text = self.tr("This model has no attention whose heads can be shown.")
            action = show_view_action(self.workspace, Page.LAYERS, self.tr("Show the layers"))
            return Notice(text, action)
        self._choice.offer(self._layers, self._layer)
        if self._all.isChecked():
            self._all_heads.show_layers(self._layers, self._layer)
        return self.query_runs(self._layer, partial(jobs.attention_job, self._layer))

    @override
    def draw(self, result: RunResults[RunAttention]) -> None:
        if result is not self._result:
            self._result = result
            self._pair = attention_pair(result.b, result.a)
            self._shown.offer_for(result.b.run)
            self._root.setEnabled(True)
            self._head.show()
            self._share_room()
        self._draw_later()

    @override
    def show_notice(self, notice: Notice) -> None:
        self._forget_drawn()
        self._all.setChecked(False)
        self._head.clear()
        self._head.hide()
        self._share_room()
        self._heads.set_title("")
        super().show_notice(notice)

    @override
    def clear(self) -> None:
        super().clear()
        self._forget_drawn()
        self._layers_of = None
        self._head.clear()

    @override
    def release(self) -> None:
        self.clear()  # attention takes much memory

    def _share_room(self) -> None:
        """Leave all room to the large head if it is the only one."""
        is_single = self._pair is not None and len(self._pair.b.maps.probabilities) == 1
        self._pages.setVisible(self._all.isChecked() or not is_single)

    def _draw_later(self) -> None:
        # Each in its own event-loop turn: 512 tokens take a while to draw.
        self.workspace.deferred.add(self._show_heads)
        self.workspace.deferred.add(self._show_head)

    def _forget_drawn(self) -> None:
        self._result = self._pair = self._large = None
        self._charts = self._drawn_heads = self._drawn_head = None
        self._root.setEnabled(False)

    def _show_heads(self) -> None:
        if self._pair is None:
            return
        is_root = self._root.isChecked()
        wanted = self._pair, self.workspace.runs.comparison, is_root
        if self._drawn_heads != wanted:
            self._drawn_heads = wanted
            key = self._pair, is_root
            if self._charts is None or self._charts[0] != key:
                self._charts = key, self._pair.charts(partial(heads_chart, is_root=is_root))
            self._heads.show_charts(*self._charts[1], self._pair.partners)
        self._set_heads_title()

    def _set_heads_title(self) -> None:
        if self._pair is not None:
            self._heads.set_title(*self._heads_title(self._pair))

    def _heads_title(self, pair: AttentionPair) -> tuple[str, str]:
        """Return the title of the small charts, and a tooltip that explains their captions."""
        if pair.a is not None and self.workspace.runs.comparison == "difference":
            tip = self.tr(
                "Each head has its own colour range, up to ± its largest difference:\nin a "
                "common range, one strongly changed head would make all others pale.\nRows "
                "and columns of tokens that are not in A are blank."
            )
            return self.tr("Heads, B − A, each with its own colour range"), tip
        grid = self._heads.plot
        # Captions need room, which two runs do not leave.
        if pair.a is not None or not (isinstance(grid, HeadGrid) and grid.has_captions):
            return self.tr("Heads"), ""
        tip = self.tr(
            "H: attention entropy of a head in nats; 0 if each token attends to a single token"
        )
        text = self.tr("entropy H")
        if pair.b.maps.distances is not None:
            text += self.tr(", distance d")
            tip += "\n" + self.tr("d: mean attention distance in tokens")
        return self.tr("Heads: {0}").format(text), tip

    def _show_head(self) -> None:
        if self._pair is None:
            return
        # The first head if none is selected, without selecting it.
        count = len(self._pair.b.maps.probabilities)
        head, is_root = min(self.workspace.selection.head or 0, count - 1), self._root.isChecked()
        name = ""
        if self._shown.is_mean:
            head, name = 0, count_text(count, self.tr("1 head"), self.tr("mean of {0} heads"))
        choice = self._shown.currentData()
        wanted = self._pair, self.workspace.runs.comparison, head, is_root, choice
        if self._drawn_head != wanted:
            self._drawn_head = wanted
            self._large = self._shown.apply(self._pair)
            self._head.show_head(self._large, head, is_root, name)
        if self._large is not None:
            self._head.show_most_attended(self._large.b, head, self.workspace.selection.token)

    def _on_chosen(self, layer: AttentionLayer) -> None:
        self._layer = layer
        self.workspace.selection.go(SelectionKey(layer.path))
        # All calls of a shared layer are one module, so the selection may not have changed.
        self.refresh()

    def _on_all(self, is_wanted: bool) -> None:
        panel = self._all_heads.panel if is_wanted else self._heads
        panel.add_controls(self._choice, self._all)
        self._pages.setCurrentIndex(int(is_wanted))
        self._share_room()
        if is_wanted:
            self.refresh()
        else:
            self._all_heads.cancel()

    def _on_architecture(self) -> None:
        self._layer = None


class HeadPanel(QWidget):
    """A matrix with a row for each query and a column for each key, or arcs between tokens."""

    def __init__(self, workspace: Workspace, controls: Sequence[QWidget]) -> None:
        super().__init__()
        self._controls = tuple(controls)
        self._shown: tuple[AttentionPair, int, bool, str] | None = None
        self._panels: dict[Picture, ChartPanel] = {
            "matrix": ChartPanel(workspace, "", TokenMatrix),
            "arcs": ChartPanel(workspace, "", ArcPlot),
        }
        self._panels["matrix"].plot.setObjectName("headPlot")
        self._panels["arcs"].plot.setObjectName("arcPlot")
        self._pages = stacked(*self._panels.values())
        self._picture: Picture = "matrix"
        self._most_attended = named(ElidedLabel(), "mostAttended")
        self._most_attended.setForegroundRole(QPalette.ColorRole.PlaceholderText)
        self._most_attended.setFont(sized(self._most_attended.font(), SMALL))
        vbox((self._pages, 1), self._most_attended, parent=self, spacing=0)

    def show_as(self, picture: Picture) -> None:
        """Show the head as a matrix or as arcs."""
        self._picture = picture
        self._panels[picture].add_controls(*self._controls)
        self._pages.setCurrentWidget(self._panels[picture])
        if self._shown is not None:
            self.show_head(*self._shown)

    def show_head(self, pair: AttentionPair, head: int, is_root: bool, name: str = "") -> None:
        """Show a head of both runs, with a linear or a square-root colour scale.

        ``name`` replaces "head 0" for a mean of heads.
        """
        self._shown = pair, head, is_root, name
        panel = self._panels[self._picture]
        panel.set_title(*self._title(pair, head, name))
        make = partial(head_chart, head=head, is_root=is_root, name=name)
        panel.show_charts(*pair.charts(make), pair.partners)

    def show_most_attended(self, attended: RunAttention, head: int, token: int | None) -> None:
        """Name the keys with the largest weights of a query token, or the queries of a key."""
        run, maps, text = attended.run, attended.maps, ""
        if token is not None and token in maps.query_tokens:
            text = self.tr("{0} attends most to  {1}")
            weights = most_attended(maps, head, token, MAX_NAMED)
        elif token is not None and token in maps.key_tokens:
            text = self.tr("{0} is attended to most by  {1}")
            weights = most_attending(maps, head, token, MAX_NAMED)
        if token is not None and text:
            names = "  ·  ".join(f"{token_name(run, t)} {weight:.3f}" for t, weight in weights)
            text = text.format(token_name(run, token), names)
        self._most_attended.setText(text)

    def clear(self) -> None:
        """Show nothing."""
        self._shown = None
        self._most_attended.clear()
        for panel in self._panels.values():
            panel.set_title("")
            panel.show_charts(None)

    def _title(self, pair: AttentionPair, head: int, name: str) -> tuple[str, str]:
        """Return the head's entropy and distance, and a tooltip that explains them."""
        both = [attended.maps for attended in (pair.b, pair.a) if attended is not None]
        keys = pair.b.maps.probabilities.shape[2]
        name = upper_first(name) if name else self.tr("Head {0}").format(head)
        entropies = _values_text(*(maps.entropies[head] for maps in both))
        text = self.tr("{0}: H {1} nats").format(name, entropies)
        tip = self.tr(
            "H: attention entropy, averaged over the query tokens:\n0 if each attends to a "
            "single token, ln {0} = {1} if each attends to all equally."
        ).format(keys, f"{log(keys):.3f}")
        distances = [maps.distances[head] for maps in both if maps.distances is not None]
        if distances:
            text += self.tr(", d {0} tokens").format(_values_text(*distances))
            tip += "\n" + self.tr(
                "d: attention-weighted distance in tokens, averaged over the query tokens."
            )
        tip += "\n" + self.tr(
            "Scroll or press + and − to zoom, drag to move, double-click or press 0 to fit."
        )
        return text, tip


def _values_text(b: float, a: float | None = None) -> str:
    return f"{b:.3f}" if a is None else f"{b:.3f} (A {a:.3f})"
