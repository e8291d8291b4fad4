"""A paper, a standard or a text that something is said after."""

from msgspec import Struct


class Reference(Struct, frozen=True):
    """One entry of the bibliography.

    Attributes:
        key: how it is cited, "Vaswani et al. 2017"; no two entries have the same.
        authors: all of them, or the first three and "and others".
        year: when it appeared.
        title: its title.
        place: where it appeared; "arXiv" where nowhere else.
        arxiv: its number at arXiv, empty if it has none.
        doi: its DOI, empty where it is not known.
    """

    key: str
    authors: str
    year: int
    title: str
    place: str
    arxiv: str = ""
    doi: str = ""

    @property
    def numbers(self) -> str:
        """Where it can be looked up: "arXiv:1706.03762", "doi:10.…" or both; empty for neither."""
        named = (("arXiv:", self.arxiv), ("doi:", self.doi))
        return ", ".join(f"{name}{number}" for name, number in named if number)

    @property
    def text(self) -> str:
        """The whole entry as one line of a bibliography."""
        place = "" if self.place == "arXiv" else f" {self.place}."
        numbers = f" {self.numbers}." if self.numbers else ""
        return f"{self.authors} ({self.year}). {self.title.rstrip('.')}.{place}{numbers}"
