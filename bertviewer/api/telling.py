"""How a script is told how far work is, if it wants to know."""

from bertviewer.core.util.errors import Cancelled
from bertviewer.core.util.progress import Progress, no_progress


def told(progress: Progress | None) -> Progress:
    """Return what the core may tell of its progress; whatever the script raises stops the work."""
    if progress is None:
        return no_progress

    def tell(done: int, total: int, label: str) -> None:
        try:
            progress(done, total, label)
        except BaseException as error:
            # The core lets this pass; another exception might be taken for a failure of the model.
            raise Cancelled from error

    return tell
