"""A figure, which can be saved and which notebooks show."""

from collections.abc import Callable, Mapping
from os import PathLike
from pathlib import Path

from bertviewer.api.drawing import drawn
from bertviewer.api.errors import with_error_lines
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flow
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.util.errors import UserError
from bertviewer.report.pictures import Picture


class Figure:
    """A chart of a run, or the drawing of a module's data flow, as the window shows it.

    It is drawn on demand in a helper process: the script does not load Qt, and may use any thread.

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
        """Use ``Run.figure``, ``Model.figure`` or ``Corpus.figure``."""
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
        """The file name extensions that this figure can be saved with."""
        return tuple(self._writers)

    @with_error_lines
    def svg(self) -> str:
        """Return the figure as SVG."""
        return self._drawn("svg").decode()

    @with_error_lines
    def pdf(self) -> bytes:
        """Return the figure as a PDF of one page."""
        return self._drawn("pdf")

    @with_error_lines
    def png(self) -> bytes:
        """Return a chart as PNG."""
        return self._content(".png")

    @with_error_lines
    def csv(self) -> str:
        """Return the numbers of a chart as CSV, with all digits."""
        return self._content(".csv").decode()

    @with_error_lines
    def dot(self) -> str:
        """Return a data-flow graph in the DOT language of Graphviz."""
        return self._content(".dot").decode()

    @with_error_lines
    def save(self, file: str | PathLike[str]) -> Path:
        """Save the figure in the format of the file's extension, and return the path.

        Files of the open model are never replaced.
        """
        from bertviewer.core.saving.atomic_files import check_writable, save

        path = Path(file)
        if path.suffix.lower() not in self._writers:
            *others, last = self._writers
            raise UserError(
                f"cannot write {path}: {self.name} is written as {', '.join(others)} or {last}"
            )
        check_writable(path, [self._source])
        save(path, self._content(path.suffix.lower()), [self._source])
        return path

    @property
    def _writers(self) -> Mapping[str, Callable[[], bytes]]:
        writers: dict[str, Callable[[], bytes]] = {
            ".svg": lambda: self._drawn("svg"),
            ".pdf": lambda: self._drawn("pdf"),
        }
        if isinstance(self._picture.drawn, Flow):
            return writers | {".dot": self._dot}
        return writers | {".png": lambda: self._drawn("png"), ".csv": self._csv}

    def _content(self, ending: str) -> bytes:
        writer = self._writers.get(ending)
        if writer is None:
            raise UserError(f"{self.name} has no {ending}; available: {', '.join(self._writers)}")
        return writer()

    def _drawn(self, kind: str) -> bytes:
        return drawn(_picture_file, self._picture, self._architecture, kind)

    def _csv(self) -> bytes:
        from bertviewer.charts.map.treemap import Area
        from bertviewer.charts.table import csv_text
        from bertviewer.core.schema.outline import Outline

        chart = self._picture.drawn
        assert not isinstance(chart, Flow | Outline | Area)
        return csv_text(chart).encode()

    def _dot(self) -> bytes:
        from bertviewer.charts.graph.dot import dot_of

        assert isinstance(self._picture.drawn, Flow)
        return dot_of(self._picture.drawn).encode()


def _picture_file(picture: Picture, architecture: Architecture, kind: str) -> bytes:
    # It may run in a helper process, so that this one need not import Qt.
    from bertviewer.report.drawing import picture_file

    return picture_file(picture, architecture, kind)
