"""What the page needs to have models opened."""

from typing import Protocol

from PySide6.QtCore import SignalInstance


class Opens(Protocol):
    """All ways to open one; ``began`` names it, ``dragged`` says that one is over the window."""

    @property
    def began(self) -> SignalInstance: ...  # noqa: D102
    @property
    def dragged(self) -> SignalInstance: ...  # noqa: D102
    def open_named(self, name: str) -> None: ...  # noqa: D102
    def open_recent(self, name: str) -> None: ...  # noqa: D102
    def choose_folder(self) -> None: ...  # noqa: D102
    def choose_file(self) -> None: ...  # noqa: D102
    def choose_hub(self) -> None: ...  # noqa: D102
