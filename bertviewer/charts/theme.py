"""Theme: colours, fonts, sizes and spacing of the window, charts and reports."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.charts.viridis import VIRIDIS

Part = Literal["embeddings", "attention", "feed-forward", "norm", "residual", "head", "plain"]
"""Parts of a model, each with its own hue."""
PARTS: tuple[Part, ...] = get_args(Part)

FONTS = ("Inter", "Helvetica Neue", "Arial", "Liberation Sans", "DejaVu Sans", "sans-serif")
MONO_FONTS = ("JetBrains Mono", "DejaVu Sans Mono", "Menlo", "Consolas", "monospace")
"""Font families; the first is installed with the program."""
CJK_FONTS = ("Noto Sans CJK SC", "Source Han Sans SC", "PingFang SC", "Microsoft YaHei")
"""Of Chinese letters, in their simplified forms."""

_FONT_PACKAGES = {
    "fontpkg_inter": "Inter[opsz,wght].ttf",
    "fontpkg_jetbrains_mono": "JetBrainsMono[wght].ttf",
}
FONT_FILES = tuple(_FONT_PACKAGES.values())

NORMAL_WEIGHT, MEDIUM, STRONG = 400, 500, 650
"""Font weights: of text, of choices, of names and numbers."""

SMALL, NORMAL, LARGE, TITLE = 10.5, 12.0, 13.0, 15.5
"""Font sizes in pixels: of remarks, of tables, of text, of titles."""

GRID, ROW, RADIUS, ROUND = 4, 26, 6, 10
"""In pixels: the unit of distances, the height of a row, the radii of controls and of cards."""


def font_folders() -> list[Path]:
    """Return the folders of the installed font files."""
    specs = (find_spec(package) for package in _FONT_PACKAGES)
    folders = (each for spec in specs for each in (spec and spec.submodule_search_locations) or ())
    return [Path(folder) / "files" for folder in folders]


def css_family(names: Sequence[str]) -> str:
    """Return font families for CSS and SVG."""
    return ", ".join(f"'{name}'" if " " in name else name for name in names)


def css_weight(weight: int) -> int:
    """Return a font weight for SVG, in hundreds, because some programs support no others."""
    return weight // 100 * 100


class Theme(Struct, frozen=True):
    """Colours as ``#rrggbb``.

    Attributes:
        background: behind the panes of the window.
        surface: of panes, fields and charts.
        line: separators and borders.
        text: primary text, and what is selected in a chart.
        muted: secondary text and axes.
        faint: tertiary text.
        accent: actions and selection.
        on_accent: text on the accent.
        tint: the share of a hue in a tinted fill.
        parts: the hue of each part of a model.
        right: of passed checks.
        warning: of random weights and errors.
        series: of lines, in order.
        colormap: of sequential values, from low to high.
        diverging: of values about 0, from negative to positive. The middle is close to the surface,
            but distinct from an empty cell.
        dashes: dash patterns of lines in multiples of their width, () for a solid line; only of
            themes without hues.
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
    colormap: tuple[str, ...]
    diverging: tuple[str, ...]
    dashes: tuple[tuple[float, ...], ...] = ()

    def __hash__(self) -> int:
        return hash((self.background, self.text, self.accent, self.series))  # dicts have no hash

    @property
    def flow(self) -> str:
        """Of edges along which data flow."""
        return self.parts["residual"]

    @property
    def selection(self) -> str:
        """Behind selected text."""
        return mixed(self.accent, self.surface, self.tint)

    @property
    def hover(self) -> str:
        """Behind what the pointer is over."""
        return mixed(self.text, self.surface, 0.05)

    @property
    def field(self) -> str:
        """Of tracks and fields on a surface."""
        return mixed(self.text, self.surface, 0.03)

    @property
    def disabled(self) -> str:
        """Of disabled text."""
        return mixed(self.text, self.surface, 0.38)

    def fill(self, part: Part) -> str:
        """Return the fill of a part's shapes."""
        return self.surface if part == "plain" else mixed(self.parts[part], self.surface, self.tint)

    def border(self, part: Part) -> str:
        """Return the border of a part's shapes."""
        return self.faint if part == "plain" else mixed(self.parts[part], self.surface, 0.6)

    def dash(self, number: int) -> tuple[float, ...]:
        """Return the dash pattern of a line."""
        return self.dashes[number % len(self.dashes)] if self.dashes else ()

    def shade(self, part: Part, strength: float) -> str:
        """Return a share of a part's hue on the surface."""
        return mixed(self.parts[part], self.surface, strength)


def mixed(color: str, other: str, share: float) -> str:
    """Return the mixture of a share of the first colour with the other."""
    pairs = zip(bytes.fromhex(color[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


def _hues(*colors: str) -> Mapping[Part, str]:
    """Return colours by the parts in order."""
    return dict(zip(PARTS, colors, strict=True))


# The first of the series is the accent. The others are from Okabe and Ito's palette for colour
# blindness, some a shade darker or lighter for contrast with the background. Blue and orange are
# distinct, too.
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
    colormap=VIRIDIS,
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
    colormap=VIRIDIS,
    diverging=("#c6e4fa", "#56b4e9", "#1f6396", "#353b43", "#9a5410", "#f0912d", "#ffe3b8"),
)

# For print: the hues differ in lightness, so that they are distinct in a grey copy, and texts are
# dark enough for the smallest size. The signs of diverging colours are lost in a grey copy.
PAPER = replace(
    LIGHT,
    background="#ffffff",
    muted="#59626e",
    faint="#6f767f",
    accent="#3b48ae",
    parts=_hues("#0d8479", "#3b48ae", "#a06a1b", "#6d7682", "#6e7681", "#ad3a60", "#626b78"),
    series=("#3b48ae", "#db7727", "#008c66", "#9b4a81", "#513d00", "#272c34"),
)
# Without hues: series differ in lightness and dashes; values are from pale to dark, and 0 is in the
# middle where they have signs.
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
    diverging=("#f0f0f0", "#8c8c8c", "#0d0d0d"),
    dashes=((), (5, 3), (1, 3), (5, 3, 1, 3), (9, 3), (3, 3)),
)
