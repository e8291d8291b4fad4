"""Which part is opened when something is selected elsewhere."""

from collections.abc import Sequence

from bertviewer.charts.map.blocks import Block
from bertviewer.charts.map.part_graphs import WHOLE, PartGraphs, Scope


def followed(atlas: PartGraphs, blocks: Sequence[Block], opened: Scope, path: str) -> Scope:
    """Return the part in which a module is looked at.

    A block of the strip is opened itself; of any other module the part that shows it, which is the
    one that is open, if it does.

    Args:
        atlas: the model.
        blocks: those of the strip.
        opened: the part that is open.
        path: the module that was selected.
    """
    if not path:
        return WHOLE
    if opened.path == path:
        return opened
    block = next((each for each in blocks if each.path == path), None)
    if block is not None and atlas.flow(block.part) is not None:
        return block.part
    if opened != WHOLE and atlas.shown(opened, path):
        return opened
    return atlas.way(path)[-1]
