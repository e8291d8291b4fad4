"""Writes a module's graph as mathematics.

``lines.write`` is the entry point: ``naming`` chooses symbols and lines, ``writer`` writes the
steps by the functions in ``operations`` and ``attention``, and explains the symbols.
``graph_analysis`` and ``loops`` recognise parts of the graph, ``expression`` sets brackets.
"""
