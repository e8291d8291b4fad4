"""Persistent settings, recent models and the language of the window."""
