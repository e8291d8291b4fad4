"""One sentence through the model: tokens, the forward pass, and the figures of every module."""
