from bertviewer.api.comparison import Comparison as Comparison
from bertviewer.api.comparison import CorpusComparison as CorpusComparison
from bertviewer.api.corpus import Corpus as Corpus
from bertviewer.api.errors import Error as Error
from bertviewer.api.figure import Figure as Figure
from bertviewer.api.formula import Formula as Formula
from bertviewer.api.model import Model as Model
from bertviewer.api.opening import compare as compare
from bertviewer.api.opening import open as open
from bertviewer.api.opening import open_corpus as open_corpus
from bertviewer.api.opening import presets as presets
from bertviewer.api.run import Run as Run

__version__: str

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
