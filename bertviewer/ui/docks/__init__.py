"""Dock panes: closing, floating, maximizing and keyboard focus."""
