"""Helpers without knowledge of models, which every other folder may import.

Start with ``errors`` (``UserError`` is what users see), ``progress`` and ``serialization``; then
``files``, ``text``, ``numbers``, ``memory`` and ``budget`` (limits), ``helper_process`` (sandboxed
work), ``libraries`` (importing torch), ``installation`` and ``log``.
"""
