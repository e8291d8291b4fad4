"""The tokenizer of a model: its files, and the process of its own that reads them."""

TOKENIZER_CHILD = "--read-tokenizers"
"""The program's hidden first argument that makes it the process that reads tokenizers."""
TOO_MUCH = "it needs far more memory or time than any tokenizer should"
"""What is said of one that met the process's limits."""
