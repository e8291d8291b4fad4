"""Appearance: palette, style sheet, text size, icons.

Start with ``appearance``.
"""
