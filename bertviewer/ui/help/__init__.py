"""User guide: a window that shows and searches the Markdown files in ``resources/help``.

``guide`` is the window, ``guide_sections`` the text, ``styling`` its typography.
"""
