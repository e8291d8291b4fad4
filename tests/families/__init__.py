"""``python -m tests.families``: examination of every model type of transformers' AutoModel.

``counting`` derives and proves formulas, ``tracing`` traces a forward pass, and ``checking`` checks
runs of a sentence; ``walk`` calls one of them for each type. Start in ``__main__``.
"""
