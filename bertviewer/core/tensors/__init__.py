"""Values of a tensor: reading in blocks, naming axes, measuring, reducing and exporting.

``values`` reads blocks, ``matrix`` selects a slice; start there. All modules are free of torch
except ``parameters``, which imports it in the functions that receive a torch tensor.
"""
