"""The bibliography is sound and has every work that the program cites."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import bertviewer.core
from bertviewer.core.explain.answers import EXPLANATIONS
from bertviewer.core.explain.bibliography import (
    Reference,
    bibliography,
    references,
    references_in,
)
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.util.files import resources_folder
from tests.core.formulas.formula_models import all_architectures

CORE = Path(bertviewer.core.__file__).parent
CITED = re.compile(
    r"[A-Z][\w\-]+(?: et al\.| (?:&|and) (?:van )?[A-Z][\w\-]+| Team)?,? \(?(?:19|20)\d\d\b"
)
"""A name, or two, with a year: what the program cites by."""


def strings_in(path: Path) -> Iterator[str]:
    """Yield the strings of a file, docstrings too, with those that stand side by side as one."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_every_paper_that_is_named_is_in_the_table() -> None:
    named = set()
    for folder in ("formulas", "checks", "replay", "tensors"):
        files = list((CORE / folder).rglob("*.py"))
        assert files
        for path in files:
            for text in strings_in(path):
                for found in CITED.finditer(text):
                    assert references_in(found.group()), f"{path.name}: {found.group()}"
                    named |= set(references_in(found.group()))
    assert len(named) > 30


def test_the_sources_of_all_formulas_lead_to_references() -> None:
    sources = set()
    for architecture in all_architectures().values():
        for node in architecture.modules:
            formula = formula_of(node, architecture)
            sources |= set() if formula is None else {formula.source}
    without = {source for source in sources if not references_in(source)}
    # What is after code alone.
    assert all(re.fullmatch(r"(torch\.nn.*|.* torch\.nn.*|transformers’ code|traced .*)", s)
               for s in without), without  # fmt: skip
    found = bibliography(sources)
    assert {"Vaswani et al. 2017", "Shazeer 2020", "Xiong et al. 2020"} <= {f.key for f in found}
    assert list(found) == [one for one in references().values() if one in found]


def test_a_source_gives_its_papers_in_order() -> None:
    source = "Vaswani et al. 2017, section 3.3; gates: Shazeer 2020"
    assert [one.key for one in references_in(source)] == ["Vaswani et al. 2017", "Shazeer 2020"]
    # A name that another one ends with.
    assert [one.key for one in references_in("Shazeer et al. 2020; Su et al. 2021")] == [
        "Shazeer et al. 2020",
        "Su et al. 2021",
    ]
    assert references_in("torch.nn.Linear") == ()


@pytest.mark.parametrize("one", references().values(), ids=lambda one: one.key)
def test_an_entry_is_sound(one: Reference) -> None:
    surname = re.split(r" et al\.| & |:| \d| Team", one.key)[0]
    assert one.key.endswith(str(one.year))
    assert surname in one.authors or one.key.startswith("IEC")
    authors = one.authors.split(", ")
    if " et al." in one.key:
        assert len(authors) > 2
    elif " & " in one.key:
        assert len(authors) == 2
    if one.arxiv:
        year, month = int(one.arxiv[:2]), int(one.arxiv[2:4])
        assert re.fullmatch(r"\d{4}\.\d{4,5}", one.arxiv)
        assert 1 <= month <= 12
        # It is in print at once or some years after.
        assert 2000 + year <= one.year <= 2000 + year + 2
    assert not one.doi or re.fullmatch(r"10\.\d{4,}/\S+", one.doi)
    assert one.title == one.title.strip()
    assert one.venue


def test_no_two_entries_are_one() -> None:
    for field in ("key", "title"):
        values = [getattr(one, field) for one in references().values()]
        assert len(values) == len(set(values))
    identifiers = [one.identifiers for one in references().values() if one.identifiers]
    assert len(identifiers) == len(set(identifiers))
    rows = (resources_folder() / "report" / "bibliography.tsv").read_text("utf-8").splitlines()
    assert len(rows) == 1 + len(references())
    assert rows[1:] == sorted(rows[1:], key=lambda row: row.split("\t")[0].casefold())


def test_an_entry_reads_as_one_line() -> None:
    assert references()["Press & Wolf 2017"].text == (
        "O. Press, L. Wolf (2017). Using the Output Embedding to Improve Language Models. "
        "EACL 2017. arXiv:1608.05859."
    )


def test_the_sources_of_explanations_are_in_the_table() -> None:
    for one in EXPLANATIONS:
        assert "; ".join(work.key for work in references_in(one.sources)) == one.sources
        assert one.sources or one.name == "subtotal"  # which is arithmetic
