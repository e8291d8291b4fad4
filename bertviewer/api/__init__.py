"""The Python API, which the commands use, too.

Start with ``opening.py``; ``Model`` and ``Run`` have most of the methods.
"""
