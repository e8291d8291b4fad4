"""The one table of references, and what of it a text names.

Whatever the program says after somebody stands here under the name that it is cited by. Formulas,
explanations and the report's bibliography read it.
"""

import re
from collections.abc import Iterable

from bertviewer.core.explain.papers_of_analysis import ANALYSIS
from bertviewer.core.explain.papers_of_models import MODELS
from bertviewer.core.explain.papers_of_parts import PARTS
from bertviewer.core.explain.reference import Reference

REFERENCES: tuple[Reference, ...] = tuple(
    sorted((*MODELS, *PARTS, *ANALYSIS), key=lambda one: (one.key.casefold(), one.year))
)
"""All of them, in the order of a bibliography."""

_BY_KEY = {reference.key: reference for reference in REFERENCES}
# The longest first: "Shazeer et al. 2020" is not "Shazeer 2020".
_KEYS = re.compile(
    "|".join(rf"(?<!\w){re.escape(key)}" for key in sorted(_BY_KEY, key=len, reverse=True))
)


def reference(key: str) -> Reference:
    """Return the reference of that key.

    Raises:
        KeyError: there is none.
    """
    return _BY_KEY[key]


def references_in(text: str) -> tuple[Reference, ...]:
    """Return what a text as "Vaswani et al. 2017, section 3.3; Shazeer 2020" cites, in order."""
    return tuple(_BY_KEY[key] for key in dict.fromkeys(_KEYS.findall(text)))


def bibliography(texts: Iterable[str]) -> tuple[Reference, ...]:
    """Return what these texts cite, each once, in the order of a bibliography."""
    cited = {found.key for text in texts for found in references_in(text)}
    return tuple(one for one in REFERENCES if one.key in cited)
