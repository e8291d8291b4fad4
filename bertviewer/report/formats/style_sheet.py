"""How an HTML page looks: its rules from a file, its colours and type from the program's table."""

from collections.abc import Iterator

from bertviewer.charts.theme import DARK, FONTS, LIGHT, MONO_FONTS, Theme
from bertviewer.core.util.files import resources_folder


def style_sheet(theme: Theme) -> str:
    """Return the rules of the page in a theme, and beside the light one in the dark one."""
    rules = (resources_folder() / "report" / "page.css").read_text(encoding="utf-8")
    return "\n".join(
        (
            f":root{{{''.join(_colors(theme))}--words:{_family(FONTS)};--mono:{_family(MONO_FONTS)}}}",
            *(_dark() if theme is LIGHT else ()),
            rules,
        )
    )


def _dark() -> Iterator[str]:
    colors = "".join(_colors(DARK))
    yield "html{color-scheme:light dark}"
    yield f"@media screen and (prefers-color-scheme:dark){{:root{{{colors}}}}}"


def _colors(theme: Theme) -> Iterator[str]:
    for name in ("background", "surface", "line", "text", "muted", "accent", "right", "warning"):
        yield f"--{name}:{getattr(theme, name)};"
    yield f"--field:{theme.field};--selection:{theme.selection};"
    yield f"--paper:{LIGHT.surface};"  # drawings have the colours of paper
    yield f"--second:{theme.fill('feed-forward')};--second-line:{theme.border('feed-forward')};"


def _family(names: tuple[str, ...]) -> str:
    return ",".join(f"'{name}'" if " " in name else name for name in names)
