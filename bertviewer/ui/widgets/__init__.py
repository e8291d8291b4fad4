"""Generic widgets, without knowledge of models.

Start with ``layouts`` (rows, columns, splitters), ``labels``, ``buttons`` and ``tables``.
"""
