"""Main window: what is around the pages.

Start with ``main_window``, which lays out the panels, and ``action_table``, which lists what the
user can do. ``session`` restores the last session.
"""
