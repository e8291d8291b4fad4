"""Patterns of operations, recognised by what they compute and never by the name of a class.

Start with ``finding.find_patterns``; ``Pattern`` is in ``graph/trace_graph.py``.
"""
