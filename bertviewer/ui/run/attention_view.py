"""What the heads of one attention look at: all of them small, one of them large."""

from functools import partial

from bertviewer.charts.attention import AttentionPair, attention_pair, heads_chart
from bertviewer.charts.chart import HeadsChart
from bertviewer.charts.selection_key import SelectionKey
from bertviewer.charts.theme import GRID
from bertviewer.core.analysis.attention_layers import AttentionLayer, attention_layers, shown_layer
from bertviewer.core.util.numbers import count_text
from bertviewer.plots.head_grid import HeadGrid
from bertviewer.ui.jobs.recorded_run import RecordedRun
from bertviewer.ui.run.all_heads import AllHeads
from bertviewer.ui.run.attention_choice import AttentionChoice
from bertviewer.ui.run.head_panel import HeadPanel
from bertviewer.ui.run.offers import another_view, retry
from bertviewer.ui.run.picture_choice import PictureChoice, RootColors
from bertviewer.ui.run.shown_attention import ShownAttention
from bertviewer.ui.run.view import InSight, View
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.attention_request import AttentionRequest
from bertviewer.ui.views.chart_panel import ChartPanel
from bertviewer.ui.views.message import Offer
from bertviewer.ui.widgets.buttons import tool_button
from bertviewer.ui.widgets.layouts import ResponsiveSplitter, stacked, vbox


class AttentionView(View):
    """The heads of the selected layer's attention, or figures of all layers; and one head large."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._layers: tuple[AttentionLayer, ...] = ()
        self._layers_of: RecordedRun | None = None
        self._layer: AttentionLayer | None = None
        self._request = AttentionRequest(workspace, self)
        self._pair: AttentionPair | None = None
        self._large: AttentionPair | None = None  # as it is drawn large
        # What is drawn already: 512 tokens take a while.
        self._charts: tuple[object, tuple[HeadsChart, HeadsChart | None]] | None = None
        self._drawn_heads: object = None
        self._drawn_head: object = None
        self._choice = AttentionChoice()
        tip = self.tr("Entropy or distance of every head in every layer")
        self._all = tool_button("allLayers", self.tr("All layers"), tip, is_checkable=True)
        self._root = RootColors()
        self._picture = PictureChoice()
        self._heads = ChartPanel(workspace, self.tr("Heads"), HeadGrid, (self._choice, self._all))
        grid = self._heads.plot
        assert isinstance(grid, HeadGrid)
        grid.setObjectName("headGrid")
        grid.captions_changed.connect(self._title_heads)
        self._every = AllHeads(workspace)
        self._shown = ShownAttention()
        self._head = HeadPanel(workspace, (self._shown, self._picture, self._root))
        self._head.turn_to(self._picture.picture)
        self._pages = stacked(self._heads, self._every)
        self._arrange()
        self._request.finished.connect(self._on_finished)
        self._request.late.connect(self._heads.show_wait)
        self._choice.chosen.connect(self._on_chosen)
        self._every.chosen.connect(self._on_chosen)
        self._all.toggled.connect(self._on_all)
        self._root.toggled.connect(self._draw_later)
        self._shown.currentIndexChanged.connect(self._draw_later)
        self._picture.picked.connect(self._head.turn_to)
        workspace.runs.run_changed.connect(self._on_runs)
        workspace.runs.comparison_changed.connect(self._on_runs)
        workspace.architecture_changed.connect(self._on_architecture)

    def in_sight(self, title: str) -> InSight:
        """Return the view with what its heads look at."""
        return InSight(title, None if self._pair is None else self._pair.b.maps)

    def refresh(self) -> None:
        """Show the attention that the tree has selected, or look for it."""
        watched, architecture = self.workspace.runs.watched, self.workspace.architecture
        if watched is None or architecture is None:
            return
        if self._layers_of is not watched:
            self._layers_of = watched
            self._layers = attention_layers(architecture, watched.run)
        path = self.workspace.selection.place.path or ""
        self._layer = shown_layer(architecture, self._layers, path, self._layer)
        for control in (self._choice, self._all):
            control.setVisible(self._layer is not None)
        if self._layer is None:
            offer = another_view(self.workspace, "Layers", self.tr("Show the layers"))
            self._refuse(self.tr("This model has no attention whose heads can be shown."), offer)
            return
        self._choice.offer(self._layers, self._layer)
        if self._all.isChecked():
            self._every.follow(self._layers, self._layer)
            self._every.refresh()
        if self._request.want_layer(self._layer):
            self._draw_later()

    def clear(self) -> None:
        """Show nothing, and keep nothing of the runs before."""
        super().clear()
        self._request.forget()
        self._forget_drawn()
        self._layers_of = None
        self._head.clear()

    def _arrange(self) -> None:
        self._pages.setContentsMargins(0, 0, 2 * GRID, 0)
        self._head.setContentsMargins(2 * GRID, 0, 0, 0)
        vbox(
            ResponsiveSplitter(self._pages, self._head, (1050, 1000)),
            parent=self,
            margins=(0, GRID, 0, 0),
        )

    def _on_finished(self) -> None:
        if self._request.b is None:
            self._refuse(self._request.error, retry(self.workspace, self._request, self.refresh))
            return
        self._pair = attention_pair(self._request.b, self._request.a)
        self._shown.offer_for(self._request.b.run)
        self._root.setEnabled(True)
        self._head.show()
        self._share_room()
        self._draw_later()

    def _share_room(self) -> None:
        """Leave all room to the large head where it is the only one."""
        is_single = self._pair is not None and len(self._pair.b.maps.probabilities) == 1
        self._pages.setVisible(self._all.isChecked() or not is_single)

    def _draw_later(self) -> None:
        # Each in a turn of its own: 512 tokens take a while to draw.
        self.workspace.draw_queue.later(self._show_heads)
        self.workspace.draw_queue.later(self._show_head)

    def _refuse(self, why: str, offer: Offer) -> None:
        """Say why there are no heads, in place of them."""
        self._forget_drawn()
        self._all.setChecked(False)
        self._head.clear()
        self._head.hide()
        self._share_room()
        self._heads.set_title("")
        self._heads.show_message(why, offer)

    def _forget_drawn(self) -> None:
        self._pair = self._large = self._charts = self._drawn_heads = self._drawn_head = None
        self._root.setEnabled(False)

    def _show_heads(self) -> None:
        if self._pair is None:
            return
        is_root = self._root.isChecked()
        wanted = self._pair, self.workspace.runs.comparison, is_root
        if self._drawn_heads != wanted:
            self._drawn_heads = wanted
            of = self._pair, is_root
            if self._charts is None or self._charts[0] != of:
                make = partial(heads_chart, is_root=is_root)
                self._charts = of, self._pair.charts(make)
            self._heads.show_charts(*self._charts[1], self._pair.partners)
        self._title_heads()

    @property
    def _has_captions(self) -> bool:
        grid = self._heads.plot
        return isinstance(grid, HeadGrid) and grid.has_captions

    def _title_heads(self) -> None:
        if self._pair is not None:
            self._heads.set_title(*self._heads_title(self._pair))

    def _heads_title(self, pair: AttentionPair) -> tuple[str, str]:
        """Return what the small heatmaps are, and what is written above them."""
        if pair.a is not None and self.workspace.runs.comparison == "difference":
            tip = self.tr(
                "Each head has its own colour range, up to ± its largest difference:\nin a "
                "common range, one strongly changed head would make all others pale.\nRows "
                "and columns of tokens that are not in A are blank."
            )
            return self.tr("Heads, B − A, each with its own colour range"), tip
        tip = self.tr(
            "H: attention entropy of a head in nats; 0 if each token attends to a single token"
        )
        text = self.tr("entropy H")
        if pair.b.maps.distances is not None:
            text += self.tr(", distance d")
            tip += "\n" + self.tr("d: mean attention distance in tokens")
        # Where there is no room for the figures, as of two runs, nothing is said of them.
        is_told = pair.a is None and self._has_captions
        return (self.tr("Heads: {0}").format(text), tip) if is_told else (self.tr("Heads"), "")

    def _show_head(self) -> None:
        if self._pair is None:
            return
        # Without a selected one the first: showing it selects nothing.
        count = len(self._pair.b.maps.probabilities)
        head, is_root = min(self.workspace.selection.head or 0, count - 1), self._root.isChecked()
        name = ""
        if self._shown.is_mean:
            head, name = 0, count_text(count, self.tr("1 head"), self.tr("mean of {0} heads"))
        choice = self._shown.currentData()
        wanted = self._pair, self.workspace.runs.comparison, head, is_root, choice
        if self._drawn_head != wanted:
            self._drawn_head = wanted
            self._large = self._shown.shown(self._pair)
            self._head.show_head(self._large, head, is_root, name)
        if self._large is not None:
            self._head.show_most(self._large.b, head, self.workspace.selection.token)

    def _on_chosen(self, layer: AttentionLayer) -> None:
        self._layer = layer
        self.workspace.selection.go(SelectionKey(layer.path))
        # The calls of a shared layer are one module, and the tree has nothing new then.
        self.refresh()

    def _on_all(self, is_wanted: bool) -> None:
        panel = self._every.panel if is_wanted else self._heads
        panel.take_controls(self._choice, self._all)
        self._pages.setCurrentIndex(int(is_wanted))
        self._share_room()
        if is_wanted:
            self.refresh()
        else:
            self._every.cancel()

    def _on_runs(self) -> None:
        if not self.isVisible():
            # The attention of a run that may be gone is not worth the memory.
            self.clear()

    def _on_architecture(self) -> None:
        self._layer = None
