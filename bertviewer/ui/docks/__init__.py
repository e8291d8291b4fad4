"""Dock panes.

``panes`` opens, places and maximizes them, ``dock`` is one of them with its title bar, and
``focus`` keeps the order of Tab and the focus.
"""
