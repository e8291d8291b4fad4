"""The list of the run's views, and the tabs that show them."""

from typing import Any

from typing_extensions import override

from bertviewer.ui.run.attention_view import AttentionView
from bertviewer.ui.run.histogram_view import HistogramView
from bertviewer.ui.run.layers_view import LayersView
from bertviewer.ui.run.predictions_view import PredictionsView
from bertviewer.ui.run.run_view import RunView, ViewTopic
from bertviewer.ui.run.similarity_view import SimilarityView
from bertviewer.ui.run.token_view import TokenView
from bertviewer.ui.run.tokens_view import TokensView
from bertviewer.ui.state.pages import Page, PageSubject
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.pages import PageKind, PageTabs, State

RUNS: frozenset[State] = frozenset({"run", "comparison"})

VIEWS: tuple[PageKind[RunView[Any]], ...] = (
    PageKind(Page.LAYERS, LayersView, RUNS | {"row", "feature"}),
    PageKind(Page.TOKEN, TokenView, RUNS | {"row", "token"}),
    PageKind(Page.SIMILARITY, SimilarityView, RUNS | {"row", "token"}),
    PageKind(Page.ATTENTION, AttentionView, RUNS | {"row", "token", "head"}),
    PageKind(Page.HISTOGRAM, HistogramView, RUNS | {"row"}),
    PageKind(Page.PREDICTIONS, PredictionsView, RUNS | {"row", "token"}),
    PageKind(Page.TOKENS, TokensView, RUNS),
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

    @override
    def show_page(self, page: Page, subject: PageSubject | None = None) -> None:
        # The sentence vectors are on the page of tokens.
        if page == Page.SENTENCE:
            page, subject = Page.TOKENS, page
        super().show_page(page, subject)

    def clear(self) -> None:
        """Show nothing: the model has changed."""
        for view in self.pages.all_built:
            view.clear()

    def topic(self) -> ViewTopic:
        """Return what the view in sight shows."""
        return self.pages.current.topic(self.shown)
