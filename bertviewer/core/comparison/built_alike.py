"""Whether a run through one model can be compared with a run through another."""

from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.util.errors import UserError


def check_built_alike(ours: Architecture, theirs: Architecture) -> None:
    """Check that two models have the same tensors, so that each place is in both.

    Raises:
        UserError: they have not.
    """
    if _shapes(ours) != _shapes(theirs):
        name = theirs.source.name
        raise UserError(f"{name} has a different structure, so its run cannot be compared")


def _shapes(architecture: Architecture) -> dict[str, tuple[int, ...]]:
    return {tensor.name: tensor.shape for tensor in architecture.parameters}
