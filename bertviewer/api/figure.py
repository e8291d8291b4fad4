"""A figure: saved by its file's ending, and shown by notebooks."""

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path

from bertviewer.api.drawing import drawn
from bertviewer.api.errors import in_one_line
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flow
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError
from bertviewer.report.pictures import Picture


class Figure:
    """A chart of a run, or the drawing of a module's flow, as the window shows it.

    Nothing is drawn before it is asked for, and then in a process of its own: a script stays
    without Qt, whatever thread it draws from.

        >>> import bertviewer
        >>> figure = bertviewer.open("demo").figure("pooler")
        >>> figure.endings
        ('.svg', '.pdf', '.dot')
        >>> figure.save("pooler.svg").name
        'pooler.svg'
    """

    def __init__(
        self, name: str, picture: Picture, architecture: Architecture, source: ModelSource
    ) -> None:
        """Figures come from ``Run.figure`` and ``Model.figure``."""
        self.name = name
        self._picture = picture
        self._architecture = architecture
        self._source = source

    def __repr__(self) -> str:
        return f"<bertviewer.Figure {self.name!r}>"

    def _repr_svg_(self) -> str:
        return self.svg()

    @property
    def endings(self) -> tuple[str, ...]:
        """How the file of this figure may end."""
        return tuple(self._ways)

    @in_one_line
    def svg(self) -> str:
        """Return it as SVG: lines and letters."""
        return self._drawn("svg").decode()

    @in_one_line
    def pdf(self) -> bytes:
        """Return it as a PDF of one page."""
        return self._drawn("pdf")

    @in_one_line
    def png(self) -> bytes:
        """Return a chart as a PNG."""
        return self._content(".png")

    @in_one_line
    def csv(self) -> str:
        """Return the numbers of a chart as CSV, with all digits."""
        return self._content(".csv").decode()

    @in_one_line
    def dot(self) -> str:
        """Return a flow in Graphviz' language."""
        return self._content(".dot").decode()

    @in_one_line
    def save(self, file: str | PathLike[str]) -> Path:
        """Write it to a file as its name ends, and return the path.

        A file of the open model is never replaced.
        """
        from bertviewer.core.saving.atomic_files import check_writable, save

        path = Path(file)
        if path.suffix.lower() not in self._ways:
            *others, last = self._ways
            raise UserError(
                f"cannot write {path}: {self.name} is written as {', '.join(others)} or {last}"
            )
        check_writable(path, [self._source])
        save(path, self._content(path.suffix.lower()), [self._source])
        return path

    @property
    def _ways(self) -> Mapping[str, Callable[[], bytes]]:
        ways: dict[str, Callable[[], bytes]] = {
            ".svg": lambda: self._drawn("svg"),
            ".pdf": lambda: self._drawn("pdf"),
        }
        if isinstance(self._picture.drawn, Flow):
            return ways | {".dot": self._dot}
        return ways | {".png": lambda: self._drawn("png"), ".csv": self._csv}

    def _content(self, ending: str) -> bytes:
        way = self._ways.get(ending)
        if way is None:
            raise UserError(f"{self.name} has no {ending}; available: {', '.join(self._ways)}")
        return way()

    def _drawn(self, kind: str) -> bytes:
        return drawn(_picture_bytes, self._picture, self._architecture, kind)

    def _csv(self) -> bytes:
        from bertviewer.charts.map.treemap import Area
        from bertviewer.charts.table import csv_text
        from bertviewer.core.schema.outline import Outline

        chart = self._picture.drawn
        assert not isinstance(chart, Flow | Outline | Area)  # of which there are other ways
        return csv_text(chart).encode()

    def _dot(self) -> bytes:
        from bertviewer.charts.graph.dot import dot_of

        assert isinstance(self._picture.drawn, Flow)
        return dot_of(self._picture.drawn).encode()


def _picture_bytes(picture: Picture, architecture: Architecture, kind: str) -> bytes:
    # The process that draws imports Qt; this one need not.
    from bertviewer.report.picture_files import picture_bytes

    return picture_bytes(picture, architecture, kind)
