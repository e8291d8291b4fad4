"""Tab with the tensors of a module: parameters, inputs and outputs of the last run, checks.

Start with ``tab``; it lists the tensors (``tensor_list``) and opens one of them, a ``Subject``, in
the ``inspector``, whose ``views`` are values, heatmap, histogram, singular values and norms.
"""
