"""Open a BERT-family transformer and understand every number in it.

The window is ``bertviewer`` on the command line; the same from a script:

    >>> import bertviewer
    >>> model = bertviewer.open("demo")
    >>> model.formula("embeddings.word_embeddings").text
    'V·D'
    >>> run = model.run("Hello, BERT.")
    >>> [token["text"] for token in run.tokens]
    ['[CLS]', 'hello', ',', 'bert', '.', '[SEP]']
    >>> run.attention(0).shape
    (12, 6, 6)

Importing bertviewer imports neither torch nor Qt nor NumPy. Errors that you can fix are
``bertviewer.Error``, with a message of one line. Use a model from one thread at a time.
"""

from importlib import import_module

__version__ = "0.1.0"

__all__ = [
    "Comparison",
    "Corpus",
    "CorpusComparison",
    "Error",
    "Figure",
    "Formula",
    "Model",
    "Run",
    "__version__",
    "compare",
    "open",
    "open_corpus",
    "presets",
]

_HOMES = {
    "Comparison": "comparison",
    "Corpus": "corpus",
    "CorpusComparison": "comparison",
    "Error": "errors",
    "Figure": "figure",
    "Formula": "formula",
    "Model": "model",
    "Run": "run",
    "compare": "opening",
    "open": "opening",
    "open_corpus": "opening",
    "presets": "opening",
}
"""Module in ``bertviewer.api`` of each name; type checkers read ``__init__.pyi``."""


def __getattr__(name: str) -> object:
    """Import a name when it is first used."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.api.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return all names, imported or not."""
    return sorted({*globals(), *__all__})
