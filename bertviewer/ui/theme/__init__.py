"""Appearance: palette, style sheet, icons, text size."""
