"""Templates of modules with several steps: attention, feed-forward networks, layers, models, heads.

Each file has a function that matches a module's graph, and a ``Template`` with its texts. All of
them are listed in ``formulas/catalogue.py``, in the order in which they are tried. Start with
``linear.py``.
"""
