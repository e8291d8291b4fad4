"""Comparison of the open model with another one, in a separate window.

Start with ``controller``, which opens the other model and the window; its pages are ``change_page``
(a heatmap) and ``tensor_table``.
"""
