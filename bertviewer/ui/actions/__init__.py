"""Actions of the window.

``action`` has their records; ``action_set`` makes ``QAction``s and menus of the table in
``shell/action_table``; ``module_actions`` are those for the selected module.
"""
