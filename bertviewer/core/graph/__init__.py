"""The data-flow graph: traced from the forward pass, with recognised patterns, per module."""
