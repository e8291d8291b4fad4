"""The views of a run: the one list of them, and when each is drawn anew."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QWidget

from bertviewer.plots.theme import PlotTheme
from bertviewer.ui.lazy_tabs import LazyTabs
from bertviewer.ui.run.attention_view import AttentionView
from bertviewer.ui.run.histogram_view import HistogramView
from bertviewer.ui.run.layers_view import LayersView
from bertviewer.ui.run.predictions_view import PredictionsView
from bertviewer.ui.run.similarity_view import SimilarityView
from bertviewer.ui.run.token_view import TokenView
from bertviewer.ui.run.view import View
from bertviewer.ui.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.workspace import Workspace


@dataclass(frozen=True, slots=True)
class ViewKind:
    """A view's title, what builds it, and which parts of the selection it shows.

    It need not name what its charts only mark.
    """

    title: str
    build: Callable[[Workspace], View]
    shows: frozenset[str] = frozenset()


VIEWS = (
    ViewKind(QT_TRANSLATE_NOOP("views", "Layers"), LayersView, frozenset({"row", "feature"})),
    ViewKind(QT_TRANSLATE_NOOP("views", "Token"), TokenView, frozenset({"row", "token"})),
    ViewKind(QT_TRANSLATE_NOOP("views", "Similarity"), SimilarityView, frozenset({"row", "token"})),
    ViewKind(
        QT_TRANSLATE_NOOP("views", "Attention"), AttentionView, frozenset({"row", "token", "head"})
    ),
    ViewKind(QT_TRANSLATE_NOOP("views", "Histogram"), HistogramView, frozenset({"row"})),
    ViewKind(
        QT_TRANSLATE_NOOP("views", "Predictions"), PredictionsView, frozenset({"row", "token"})
    ),
)


class RunViews(LazyTabs[View]):
    """All views of the run. Each is drawn only while it is in sight."""

    def __init__(self, workspace: Workspace, parent: QWidget | None = None) -> None:
        super().__init__(
            (
                (QCoreApplication.translate("views", kind.title), partial(kind.build, workspace))
                for kind in VIEWS
            ),
            parent,
        )
        self.setObjectName("runViews")
        self._workspace = workspace
        self._theme: PlotTheme | None = None
        self._stale: set[View] = set()
        self._current = self._view(0)
        self.currentChanged.connect(self._on_current)
        workspace.run_changed.connect(self._on_runs)
        workspace.comparison_changed.connect(self._on_runs)
        for part in ("row", "token", "head", "feature"):
            getattr(workspace, f"{part}_changed").connect(partial(self._on_part, part))

    @property
    def layers(self) -> LayersView:
        """The view that is there from the start."""
        view = self.page(0)
        assert isinstance(view, LayersView)
        return view

    def set_theme(self, theme: PlotTheme) -> None:
        """Draw everything in other colours."""
        self._theme = theme
        for view in self.built.values():
            view.set_theme(theme)

    def _view(self, index: int) -> View:
        """Return the view of a tab; build it, if this is the first that is seen of it."""
        if index not in self.built:
            view = self.page(index)
            if self._theme is not None:
                view.set_theme(self._theme)
            self._stale.add(view)
        return self.page(index)

    def _on_current(self, index: int) -> None:
        self._current.leave()
        # What it wished for may not have come.
        self._stale.add(self._current)
        self._current = self._view(index)
        self._refresh()

    def _on_runs(self) -> None:
        self._stale.update(self.built.values())
        self._workspace.draw_queue.later(self._refresh)

    def _on_part(self, part: str) -> None:
        self._stale.update(view for index, view in self.built.items() if part in VIEWS[index].shows)
        self._workspace.draw_queue.later(self._refresh)

    def _refresh(self) -> None:
        if self._workspace.run is not None and self._current in self._stale:
            self._stale.discard(self._current)
            self._current.refresh()
