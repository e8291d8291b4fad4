"""Stored settings, recent models, and the language of the window.

``settings`` reads and writes them; ``translation`` translates texts.
"""
