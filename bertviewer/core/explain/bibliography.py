"""The bibliography: what formulas, explanations and reports cite, by keys as "Vaswani et al. 2017".

The works are in ``resources/report/bibliography.tsv``.
"""

import csv
import re
from collections.abc import Iterable, Mapping
from functools import cache

from msgspec import Struct, convert

from bertviewer.core.util.files import resources_folder


class Reference(Struct, frozen=True):
    """One work.

    Attributes:
        key: how it is cited; unique.
        authors: all of them, or the first three and "and others".
        year: of publication.
        title: without a final period.
        venue: the proceedings, journal or publisher; "arXiv" if there is no other.
        arxiv: the arXiv identifier, empty without one.
        doi: the DOI, empty if unknown.
    """

    key: str
    authors: str
    year: int
    title: str
    venue: str
    arxiv: str = ""
    doi: str = ""

    @property
    def identifiers(self) -> str:
        """The identifiers, "arXiv:1706.03762, doi:10.…"; empty without any."""
        named = (("arXiv:", self.arxiv), ("doi:", self.doi))
        return ", ".join(f"{name}{number}" for name, number in named if number)

    @property
    def text(self) -> str:
        """The whole entry as one line of a bibliography."""
        venue = "" if self.venue == "arXiv" else f" {self.venue}."
        identifiers = f" {self.identifiers}." if self.identifiers else ""
        return f"{self.authors} ({self.year}). {self.title.rstrip('.')}.{venue}{identifiers}"


@cache
def references() -> Mapping[str, Reference]:
    """Return all works by key, in the order of a bibliography."""
    file = resources_folder() / "report" / "bibliography.tsv"
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE, restval=""))
    works = convert(rows, tuple[Reference, ...], strict=False)
    works = tuple(sorted(works, key=lambda work: (work.key.casefold(), work.year)))
    return {work.key: work for work in works}


@cache
def _keys() -> re.Pattern[str]:
    # The longest first: "Shazeer et al. 2020" contains no citation of "Shazeer 2020".
    keys = sorted(references(), key=len, reverse=True)
    return re.compile("|".join(rf"(?<!\w){re.escape(key)}" for key in keys))


def references_in(text: str) -> tuple[Reference, ...]:
    """Return the works that a text cites, in order: "Vaswani et al. 2017, section 3.3; …"."""
    return tuple(references()[key] for key in dict.fromkeys(_keys().findall(text)))


def bibliography(texts: Iterable[str]) -> tuple[Reference, ...]:
    """Return the works that these texts cite, in the order of a bibliography."""
    cited = {work.key for text in texts for work in references_in(text)}
    return tuple(work for key, work in references().items() if key in cited)
