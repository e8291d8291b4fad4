"""Tooltips that show a text as it is."""


def plain_tip(text: str) -> str:
    """Return what makes a tooltip show ``text`` literally.

    Qt takes what looks like HTML for HTML, and a token may be called ``<s>``.
    """
    return _paragraph(text) if "<" in text or "&" in text else text


def both_tips(text: str, tip: str) -> str:
    """Return a text, shown literally, above what a tooltip shows by now."""
    is_markup = tip.startswith("<p>")
    return _paragraph(text) + (tip if is_markup else _paragraph(tip))


def _paragraph(text: str) -> str:
    from html import escape  # few texts need it, and the start none

    return f"<p>{escape(text).replace(chr(10), '<br>')}</p>"
