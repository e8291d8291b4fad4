"""The list of the run's views, and the tabs that show them."""

from typing import Any

from bertviewer.ui.run.attention_view import AttentionView
from bertviewer.ui.run.histogram_view import HistogramView
from bertviewer.ui.run.layers_view import LayersView
from bertviewer.ui.run.predictions_view import PredictionsView
from bertviewer.ui.run.run_view import RunView, ViewTopic
from bertviewer.ui.run.similarity_view import SimilarityView
from bertviewer.ui.run.token_view import TokenView
from bertviewer.ui.run.tokens_view import TokensView
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.pages import PageKind, PageTabs, State

RUNS: frozenset[State] = frozenset({"run", "comparison"})

VIEWS: tuple[PageKind[RunView[Any]], ...] = (
    PageKind(QT_TRANSLATE_NOOP("views", "Layers"), LayersView, RUNS | {"row", "feature"}),
    PageKind(QT_TRANSLATE_NOOP("views", "Token"), TokenView, RUNS | {"row", "token"}),
    PageKind(QT_TRANSLATE_NOOP("views", "Similarity"), SimilarityView, RUNS | {"row", "token"}),
    PageKind(
        QT_TRANSLATE_NOOP("views", "Attention"), AttentionView, RUNS | {"row", "token", "head"}
    ),
    PageKind(QT_TRANSLATE_NOOP("views", "Histogram"), HistogramView, RUNS | {"row"}),
    PageKind(QT_TRANSLATE_NOOP("views", "Predictions"), PredictionsView, RUNS | {"row", "token"}),
    PageKind(QT_TRANSLATE_NOOP("views", "Tokens"), TokensView, RUNS),
)


class RunViews(PageTabs[RunView[Any]]):
    """Tabs with the views; only the one in sight is drawn."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(VIEWS, workspace, lambda view: view.refresh(), context="views")
        self.setObjectName("runViews")
        # Built at once: reports are made with its statistic.
        number = next(n for n, kind in enumerate(VIEWS) if kind.build is LayersView)
        view = self.pages.page(number)
        assert isinstance(view, LayersView)
        self.layers = view

    def clear(self) -> None:
        """Show nothing: the model has changed."""
        for view in self.pages.all_built:
            view.clear()

    def topic(self) -> ViewTopic:
        """Return what the view in sight shows."""
        return self.pages.current.topic(self.shown)
