"""The bibliography: what formulas, explanations and reports cite, by keys as "Vaswani et al. 2017".

The works are in ``resources/report/bibliography.tsv``, but the pages of models on the Hub.
"""

import csv
import re
from collections.abc import Iterable, Mapping
from functools import cache

from msgspec import Struct, convert

from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.model_source import parse_hub_name
from bertviewer.core.sources.presets import DEMO_NAME, preset_paper
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.files import resources_folder


class Reference(Struct, frozen=True):
    """One work.

    Attributes:
        key: how it is cited; unique.
        authors: all of them, or the first three and "and others".
        year: of publication, 0 if unknown.
        title: without a final period.
        venue: the proceedings, journal or publisher; "arXiv" if there is no other.
        arxiv: the arXiv identifier. At most one of this, ``doi`` and ``url`` is not empty.
        doi: the DOI.
        url: the address of another work.
        package: the Python package of software that computes the values; else empty.
    """

    key: str
    authors: str
    year: int
    title: str
    venue: str
    arxiv: str = ""
    doi: str = ""
    url: str = ""
    package: str = ""

    @property
    def link(self) -> str:
        """The address of the work, empty if unknown."""
        if self.doi:
            return f"https://doi.org/{self.doi}"
        return f"https://arxiv.org/abs/{self.arxiv}" if self.arxiv else self.url

    @property
    def text(self) -> str:
        """The entry as one line of a bibliography, before ``link``."""
        parts = [
            f"{self.authors} ({self.year})" if self.year else self.authors,
            self.title,
            "" if self.venue == "arXiv" else self.venue,
        ]
        return " ".join(part if part[-1] in ".?!" else f"{part}." for part in parts if part)


@cache
def references() -> Mapping[str, Reference]:
    """Return all works by key, in the order of a bibliography."""
    file = resources_folder() / "report" / "bibliography.tsv"
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE, restval=""))
    works = convert(rows, tuple[Reference, ...], strict=False)
    return {work.key: work for work in sorted(works, key=_order)}


def _order(work: Reference) -> tuple[str, int]:
    return work.key.casefold(), work.year


@cache
def _keys() -> re.Pattern[str]:
    # The longest first: "Shazeer et al. 2020" contains no citation of "Shazeer 2020".
    keys = sorted(references(), key=len, reverse=True)
    return re.compile("|".join(rf"(?<!\w){re.escape(key)}" for key in keys))


def references_in(text: str) -> tuple[Reference, ...]:
    """Return the works that a text cites, in order: "Vaswani et al. 2017, section 3.3; …"."""
    return tuple(references()[key] for key in dict.fromkeys(_keys().findall(text)))


def bibliography(texts: Iterable[str], others: Iterable[Reference] = ()) -> tuple[Reference, ...]:
    """Return the works that these texts cite, the software, and others, sorted by key."""
    cited = {work.key: work for text in texts for work in references_in(text)}
    software = {work.key: work for work in references().values() if work.package}
    every = cited | software | {work.key: work for work in others}
    return tuple(sorted(every.values(), key=_order))


def model_reference(source: SourceInfo, origin: str) -> Reference | None:
    """Return the work that a model comes from: a preset's paper, or a page of the Hub.

    Args:
        source: the model.
        origin: the Hub's name of the model that another one, such as a folder, was made from.
    """
    if source.kind == "preset":
        return references()[preset_paper(source.name)]
    name = {"demo": DEMO_NAME, "hub": source.name}.get(source.kind, origin)
    try:
        repo = parse_hub_name(name).repo
    except UserError:
        return None
    author, slash, title = repo.partition("/")
    if not slash:  # it may be the name of a folder
        return None
    return Reference(
        repo, author, 0, title, "Hugging Face Hub", url=f"https://huggingface.co/{repo}"
    )
