"""Templates of modules with several steps: attention, feed-forward networks, layers, models, heads.

Each file has a function that matches a module's graph, and a ``Template`` with its texts. All of
them are listed in ``formulas/catalogue.py``, in the order in which they are tried. Start with
``feed_forward.py``. ``heads.py`` (attention heads), ``attention_texts.py`` and ``residual.py`` have
no template: they are parts of ``attention.py`` and ``layer.py``.
"""
