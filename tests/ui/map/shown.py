"""What of the map is selected and marked."""

from bertviewer.ui.map.tab import MapTab
from bertviewer.ui.state.workspace import Workspace
from tests.ui.map.map_hands import canvas_of

LAYER = "encoder.layer.1"


def selected(workspace: Workspace) -> str | None:
    return workspace.selection.place.path


def ringed(tab: MapTab) -> set[str]:
    return {marked.key for marked in canvas_of(tab).marked}
