"""Where the files of the program's fonts are, for screen and paper alike.

How the program looks, as one table: colours, type and space, for widgets, figures and paper.
"""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

_PACKAGES = (
    ("fontpkg_inter", "Inter[opsz,wght].ttf"),
    ("fontpkg_jetbrains_mono", "JetBrainsMono[wght].ttf"),
)
FONT_FILES = tuple(file for _, file in _PACKAGES)


def font_folders() -> list[Path]:
    """Return the folders of the fonts' files, as far as they are installed."""
    specs = (find_spec(package) for package, _ in _PACKAGES)
    places = (
        folder for spec in specs for folder in (spec and spec.submodule_search_locations) or ()
    )
    return [Path(folder) / "files" for folder in places]


Part = Literal["embeddings", "attention", "feed-forward", "norm", "residual", "head", "plain"]
"""What of a model a hue stands for, the same in tree, map, plots and on paper."""
PARTS: tuple[Part, ...] = get_args(Part)

FONTS = ("Inter", "Helvetica Neue", "Arial", "Liberation Sans", "DejaVu Sans", "sans-serif")
MONO_FONTS = ("JetBrains Mono", "DejaVu Sans Mono", "Menlo", "Consolas", "monospace")
"""The first that is there is taken; the program brings the first."""

NORMAL_WEIGHT, MEDIUM, STRONG = 400, 500, 650
"""Weights of type: of words, of what can be chosen, of names and figures."""

SMALL, NORMAL, LARGE, TITLE = 10.5, 12.0, 13.0, 15.5
"""Sizes of type in pixels: of what stands beside, of tables, of words, of a pane's title."""

GRID, ROW, RADIUS, ROUND = 4, 26, 6, 10
"""Space in pixels: what distances are multiples of, a row, corners of controls and of cards."""


def css_family(names: Sequence[str]) -> str:
    """Return families of type as CSS and SVG name them, the first one first."""
    return ", ".join(f"'{name}'" if " " in name else name for name in names)


def css_weight(weight: int) -> int:
    """Return a weight of type as SVG names it: hundreds are all that some programs know."""
    return weight // 100 * 100


class Theme(Struct, frozen=True):
    """Colours as ``#rrggbb``.

    Attributes:
        background: of the window, behind the panes.
        surface: of panes, fields and figures.
        line: between panes, and around what can be clicked.
        text: what is read first, and what is selected in a figure.
        muted: what is read second, and axes.
        faint: what repeats something else.
        accent: what can be done, and what is selected.
        on_accent: words on the accent.
        tint: how much of its hue a tinted fill has: a selected row, a part's shape.
        parts: the hue of each part.
        right: what was checked and holds.
        warning: what is random or wrong.
        series: lines, in the order in which they are drawn.
        colormap: pyqtgraph's name of the map for values from low to high, or its colours.
        diverging: the map for values about 0, from the most negative to the most positive. Its
            middle is close to the surface and yet no empty cell.
        dashes: of lines, in the same order, in parts of their width: dash, space, …; () is a whole
            line. A theme without hues has them.
    """

    background: str
    surface: str
    line: str
    text: str
    muted: str
    faint: str
    accent: str
    on_accent: str
    tint: float
    parts: Mapping[Part, str]
    right: str
    warning: str
    series: tuple[str, ...]
    colormap: str | tuple[str, ...]
    diverging: tuple[str, ...]
    dashes: tuple[tuple[float, ...], ...] = ()

    def __hash__(self) -> int:
        return hash((self.background, self.text, self.accent, self.series))  # parts have no hash

    @property
    def flow(self) -> str:
        """The colour of lines along which tensors go."""
        return self.parts["residual"]

    @property
    def selection(self) -> str:
        """The colour behind what is selected."""
        return mixed(self.accent, self.surface, self.tint)

    @property
    def hover(self) -> str:
        """The colour behind what the pointer is over."""
        return mixed(self.text, self.surface, 0.05)

    @property
    def field(self) -> str:
        """The colour of a track, or of a field on a surface."""
        return mixed(self.text, self.surface, 0.03)

    @property
    def disabled(self) -> str:
        """The colour of words of what cannot be used now."""
        return mixed(self.text, self.surface, 0.38)

    def fill(self, part: Part) -> str:
        """Return the colour inside of a part's shapes."""
        return self.surface if part == "plain" else mixed(self.parts[part], self.surface, self.tint)

    def border(self, part: Part) -> str:
        """Return the colour around a part's shapes."""
        return self.faint if part == "plain" else mixed(self.parts[part], self.surface, 0.6)

    def dash(self, number: int) -> tuple[float, ...]:
        """Return how a line of the series is dashed."""
        return self.dashes[number % len(self.dashes)] if self.dashes else ()

    def shade(self, part: Part, strength: float) -> str:
        """Return a part's hue, paler."""
        return mixed(self.parts[part], self.surface, strength)


def mixed(color: str, other: str, share: float) -> str:
    """Return a colour that has such a share of the first, and else the other."""
    pairs = zip(_channels(color), _channels(other), strict=True)
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


def _channels(color: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(color[1:]))


def _hues(*colors: str) -> Mapping[Part, str]:
    """Return the colours as those of the parts, in their order."""
    return dict(zip(PARTS, colors, strict=True))


# The first of the series is the accent. The others are Okabe and Ito's, which people with colour
# blindness tell apart; those too pale or too dark for their background are a shade darker or
# lighter. Blue against orange is told apart likewise.
LIGHT = Theme(
    background="#fafafb",
    surface="#ffffff",
    line="#e4e7ec",
    text="#17191e",
    muted="#626b78",
    faint="#98a1ae",
    accent="#4453c8",
    on_accent="#ffffff",
    tint=0.12,
    parts=_hues("#0e8f83", "#4453c8", "#b7791f", "#7a8391", "#8a94a3", "#c2416b", "#626b78"),
    right="#13743a",
    warning="#a84300",
    series=("#4453c8", "#d55e00", "#009e73", "#b8589a", "#8f6b00", "#4b5563"),
    colormap="viridis",
    diverging=("#08306b", "#2171b5", "#8fbfe0", "#ebebeb", "#f5b27f", "#d55e00", "#6b2400"),
)
DARK = Theme(
    background="#111317",
    surface="#181b20",
    line="#2a2f37",
    text="#e8eaee",
    muted="#9aa3b0",
    faint="#6a7380",
    accent="#8b96ff",
    on_accent="#111317",
    tint=0.15,
    parts=_hues("#2cb8a8", "#8b96ff", "#e0a33f", "#8e98a6", "#76808e", "#ee7fa4", "#9aa3b0"),
    right="#4ade80",
    warning="#f0a35e",
    series=("#8b96ff", "#e69f00", "#35c79a", "#e08fc4", "#f0e442", "#b6c0ca"),
    colormap="viridis",
    diverging=("#c6e4fa", "#56b4e9", "#1f6396", "#353b43", "#9a5410", "#f0912d", "#ffe3b8"),
)

# For print: the window's hues, each of another lightness, so that a copy in grey tells them apart;
# and all that is read is dark enough for the smallest type. A grey copy cannot tell the signs of
# diverging colours: both ends are dark.
PAPER = replace(
    LIGHT,
    background="#ffffff",
    muted="#59626e",
    faint="#6f767f",
    accent="#3b48ae",
    parts=_hues("#0d8479", "#3b48ae", "#a06a1b", "#6d7682", "#6e7681", "#ad3a60", "#626b78"),
    series=("#3b48ae", "#db7727", "#008c66", "#9b4a81", "#513d00", "#272c34"),
)
# Without hues: series are told apart by lightness and dashes, and values run from pale to dark, or
# from dark to pale about 0 in the middle.
GREY = replace(
    PAPER,
    text="#111111",
    muted="#4d4d4d",
    line="#d9d9d9",
    faint="#6e6e6e",
    accent="#333333",
    tint=0.16,
    parts=_hues("#575757", "#262626", "#6e6e6e", "#6e6e6e", "#6e6e6e", "#404040", "#4d4d4d"),
    right="#4d4d4d",
    warning="#111111",
    series=("#272727", "#919191", "#535353", "#7b7b7b", "#404040", "#666666"),
    colormap=("#ebebeb", "#0d0d0d"),
    diverging=("#0d0d0d", "#8c8c8c", "#f0f0f0"),
    dashes=((), (5, 3), (1, 3), (5, 3, 1, 3), (9, 3), (3, 3)),
)
