"""Charts, tables and graph layouts as plain data, without Qt.

``chart`` and ``table`` define them; the other modules make them from runs, corpora, tensors and
models. ``graph`` lays out data-flow graphs, ``map`` has the data of the map.
"""
