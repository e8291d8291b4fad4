"""The style sheet of all controls, made of the table of colours and space."""

from string import Template

from bertviewer.charts.theme import DARK, RADIUS, Theme, mixed
from bertviewer.core.util.files import resources_folder


def style_sheet(theme: Theme) -> str:
    """Return what Qt draws controls by, from ``resources/look/controls.qss``.

    Raises:
        OSError: the installation is incomplete.
    """
    icons = (resources_folder() / "icons" / "lines").as_posix()
    values = {
        "icons": icons,
        "check": f"{icons}/check-{'dark' if theme is DARK else 'light'}.svg",
        "radius": str(RADIUS),
        "handle": mixed(theme.text, theme.surface, 0.18),
        "handle_hover": mixed(theme.text, theme.surface, 0.35),
        "pressed": mixed(theme.text, theme.surface, 0.10),
        "accent_hover": mixed(theme.accent, theme.text, 0.88),
    }
    sheet = Template((resources_folder() / "look" / "controls.qss").read_text("utf-8"))
    of_theme = set(sheet.get_identifiers()) - values.keys()
    return sheet.substitute(values, **{name: getattr(theme, name) for name in of_theme})
