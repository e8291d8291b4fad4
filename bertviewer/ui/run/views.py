"""The views of a run: the one list of them, and when each is drawn anew."""

from bertviewer.ui.run.attention_view import AttentionView
from bertviewer.ui.run.histogram_view import HistogramView
from bertviewer.ui.run.layers_view import LayersView
from bertviewer.ui.run.predictions_view import PredictionsView
from bertviewer.ui.run.similarity_view import SimilarityView
from bertviewer.ui.run.token_view import TokenView
from bertviewer.ui.run.tokens_view import TokensView
from bertviewer.ui.run.view import InSight, View
from bertviewer.ui.settings.translation import QT_TRANSLATE_NOOP
from bertviewer.ui.state.workspace import Workspace
from bertviewer.ui.views.pages import PageKind, PageTabs, State

RUNS: frozenset[State] = frozenset({"run", "comparison"})

VIEWS: tuple[PageKind[View], ...] = (
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


class RunViews(PageTabs[View]):
    """All views of the run. Each is drawn only while it is in sight."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(VIEWS, workspace, lambda view: view.refresh(), context="views")
        self.setObjectName("runViews")
        # There from the start: the report asks for its statistic.
        number = next(n for n, kind in enumerate(VIEWS) if kind.build is LayersView)
        view = self.pages.page(number)
        assert isinstance(view, LayersView)
        self.layers = view

    def clear(self) -> None:
        """Have no view show what is of a model that is not open any more."""
        for view in self.pages.all_built:
            view.clear()

    def in_sight(self) -> InSight:
        """Return what the view shows that is in sight."""
        return self.pages.current.in_sight(self.shown)
