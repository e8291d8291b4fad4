"""The colours of a flow's picture, light and dark."""

from collections.abc import Mapping
from dataclasses import dataclass

from bertviewer.charts.flow.drawing import Part

FONTS = ("Inter", "DejaVu Sans", "Helvetica Neue", "Arial", "sans-serif")
MONO_FONTS = ("JetBrains Mono", "DejaVu Sans Mono", "Menlo", "Consolas", "monospace")
"""The first that is there is taken."""

STRONG = 650
"""The weight of names."""


@dataclass(frozen=True, slots=True)
class FlowTheme:
    """Colours as ``#rrggbb``.

    Attributes:
        background: of the canvas.
        surface: of what has no hue of its own.
        text: what is read first.
        muted: what is read second.
        faint: what repeats something else.
        flow: lines along which tensors go.
        parts: the hue of each part.
        tint: how much of its hue a part's fill has.
    """

    background: str
    surface: str
    text: str
    muted: str
    faint: str
    flow: str
    parts: Mapping[Part, str]
    tint: float

    def fill(self, part: Part) -> str:
        """Return the colour inside of a part's shapes."""
        return self.surface if part == "plain" else mixed(self.parts[part], self.surface, self.tint)

    def border(self, part: Part) -> str:
        """Return the colour around a part's shapes."""
        return self.faint if part == "plain" else mixed(self.parts[part], self.surface, 0.6)

    def shade(self, part: Part, strength: float) -> str:
        """Return a part's hue, paler."""
        return mixed(self.parts[part], self.surface, strength)


def mixed(color: str, other: str, share: float) -> str:
    """Return a colour that has such a share of the first, and else the other."""
    pairs = zip(_channels(color), _channels(other), strict=True)
    return "#" + "".join(f"{round(a * share + b * (1 - share)):02x}" for a, b in pairs)


def _channels(color: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(color[1:]))


LIGHT = FlowTheme(
    background="#ffffff",
    surface="#ffffff",
    text="#17191e",
    muted="#626b78",
    faint="#98a1ae",
    flow="#8a94a3",
    parts={
        "embeddings": "#0e8f83",
        "attention": "#4453c8",
        "feed-forward": "#b7791f",
        "norm": "#7a8391",
        "residual": "#8a94a3",
        "head": "#c2416b",
        "plain": "#626b78",
    },
    tint=0.12,
)
DARK = FlowTheme(
    background="#111317",
    surface="#181b20",
    text="#e8eaee",
    muted="#9aa3b0",
    faint="#6a7380",
    flow="#76808e",
    parts={
        "embeddings": "#2cb8a8",
        "attention": "#8b96ff",
        "feed-forward": "#e0a33f",
        "norm": "#8e98a6",
        "residual": "#76808e",
        "head": "#ee7fa4",
        "plain": "#9aa3b0",
    },
    tint=0.15,
)
