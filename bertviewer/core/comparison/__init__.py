"""Comparison of two models.

``comparison`` has the differences as plain data, ``compare_models`` computes them for two open
models, block by block from their files.
"""
