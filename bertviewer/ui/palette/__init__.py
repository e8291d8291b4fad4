"""One field that finds modules, tensors, tokens, commands and settings."""
