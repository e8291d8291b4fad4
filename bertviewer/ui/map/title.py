"""What stands above the picture: what is shown, and why there may be nothing to see."""

from PySide6.QtCore import QCoreApplication

from bertviewer.charts.map.atlas import WHOLE, Atlas
from bertviewer.charts.map.facts import PartFacts
from bertviewer.charts.map.part import Part
from bertviewer.ui.map.card import MapCard
from bertviewer.ui.map.treemap_page import TreemapPage


def show_flow_title(card: MapCard, atlas: Atlas, facts: PartFacts, part: Part) -> None:
    """Say which part is opened."""
    card.show_part(facts.name(part), facts.line(part), atlas.above(part) is not None)
    card.legend.show_hint(_tr("double-click opens · drag moves · wheel zooms"))


def show_treemap_title(card: MapCard, facts: PartFacts, treemap: TreemapPage) -> None:
    """Say which module the treemap is of."""
    card.show_part(facts.name(Part(treemap.path)), treemap.facts, bool(treemap.path))
    card.legend.show_hint(_tr("double-click opens"))


def why_no_flow(atlas: Atlas) -> str:
    """Return why a model has no flow to be seen, in a line; empty if it has one."""
    if atlas.flow(WHOLE) is not None:
        return ""
    if atlas.architecture.flows is None:
        return _tr("The map is read off the model's code as it runs: it comes in a moment.")
    text = _tr("This model has no flow: {0}. The treemap shows how large its parts are.")
    return text.format(atlas.reason(WHOLE).rstrip("."))


def _tr(text: str) -> str:
    return QCoreApplication.translate("MapTab", text)
