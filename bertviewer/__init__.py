"""Open a BERT-family transformer on the desktop and understand every number in it."""

__version__ = "0.1.0"
