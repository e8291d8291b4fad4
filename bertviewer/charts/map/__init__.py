"""Data of the map of a model, without Qt.

``part_graphs`` finds the graph of each part, ``blocks`` the strip of the whole model; ``values``
and ``coloring`` have what colours show. Start with ``part_graphs``.
"""
