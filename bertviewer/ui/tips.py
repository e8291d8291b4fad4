"""Tooltips that show a text as it is."""


def plain_tip(text: str) -> str:
    """Return what makes a tooltip show ``text`` literally.

    Qt takes what looks like HTML for HTML, and a token may be called ``<s>``.
    """
    if "<" not in text and "&" not in text:
        return text
    from html import escape  # few texts need it, and the start none

    return f"<p>{escape(text).replace(chr(10), '<br>')}</p>"
