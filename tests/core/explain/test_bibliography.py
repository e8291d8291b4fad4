"""The bibliography is consistent and contains every work that the program cites."""

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
    model_reference,
    references,
    references_in,
)
from bertviewer.core.formulas.catalogue import formula_of
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.sources.presets import DEMO_NAME, preset_names
from bertviewer.core.util.files import resources_folder
from tests.core.formulas.formula_models import all_architectures

CORE = Path(bertviewer.core.__file__).parent
CITATION = re.compile(
    r"[A-Z][\w\-]+(?: et al\.| (?:&|and) (?:van )?[A-Z][\w\-]+| Team)?,? \(?(?:19|20)\d\d\b"
)
"""One or two names with a year."""


def strings_in(path: Path) -> Iterator[str]:
    """Yield the strings and docstrings of a file."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


def test_citations_in_the_code_are_in_the_table() -> None:
    cited = set()
    for folder in ("formulas", "checks", "replay", "tensors"):
        files = list((CORE / folder).rglob("*.py"))
        assert files
        for path in files:
            for text in strings_in(path):
                for found in CITATION.finditer(text):
                    assert references_in(found.group()), f"{path.name}: {found.group()}"
                    cited |= set(references_in(found.group()))
    assert len(cited) > 30


def test_sources_of_formulas_and_explanations_are_in_the_table() -> None:
    sources = set()
    for architecture in all_architectures().values():
        for node in architecture.modules:
            formula = formula_of(node, architecture)
            sources |= set() if formula is None else {formula.source}
    code = r"(torch\.nn.*|.* torch\.nn.*|transformers’ code|traced .*)"
    for source in sources:
        assert references_in(source) or re.fullmatch(code, source), source
    found = bibliography(sources)
    assert {"Vaswani et al. 2017", "Shazeer 2020", "Xiong et al. 2020"} <= {f.key for f in found}
    assert list(found) == [one for one in references().values() if one in found]
    for each in EXPLANATIONS:
        place = r"(, (section \d(\.\d)*|sections \d(\.\d)* and \d(\.\d)*))?"
        for one in each.sources.split("; ") if each.sources else ():
            keys = "|".join(re.escape(work.key) for work in references_in(one))
            assert re.fullmatch(rf"({keys}){place}", one) if keys else re.fullmatch(code, one), one
        assert each.sources or each.name == "subtotal"  # which is arithmetic


@pytest.mark.parametrize(
    ("source", "keys"),
    [
        (
            "Vaswani et al. 2017, section 3.3; gates: Shazeer 2020",
            ["Vaswani et al. 2017", "Shazeer 2020"],
        ),
        # A key that ends like another one.
        ("Shazeer et al. 2020; Su et al. 2021", ["Shazeer et al. 2020", "Su et al. 2021"]),
        ("torch.nn.Linear", []),
    ],
)
def test_references_of_a_source(source: str, keys: list[str]) -> None:
    assert [one.key for one in references_in(source)] == keys


@pytest.mark.parametrize("one", references().values(), ids=lambda one: one.key)
def test_an_entry_is_consistent(one: Reference) -> None:
    surname = re.split(r" et al\.| & |:| \d| Team", one.key)[0]
    assert one.key.endswith(str(one.year))
    assert surname in one.authors or one.key.startswith("IEC")
    authors = one.authors.split(", ")
    if " et al." in one.key:
        assert len(authors) > 2
    elif " & " in one.key:
        assert len(authors) == 2
    assert [one.arxiv, one.doi, one.url].count("") >= 2
    assert one.link.startswith("https://") == bool(one.arxiv or one.doi or one.url)
    if one.arxiv:
        year, month = int(one.arxiv[:2]), int(one.arxiv[2:4])
        assert re.fullmatch(r"\d{4}\.\d{4,5}", one.arxiv)
        assert 1 <= month <= 12
        # Published in the same year or up to two years later.
        assert 2000 + year <= one.year <= 2000 + year + 2
    assert not one.doi or re.fullmatch(r"10\.\d{4,}/\S+", one.doi)
    assert one.title == one.title.strip()
    assert one.text.count(one.title.rstrip(".")) == 1
    assert one.venue or one.package


def test_entries_are_sorted_and_distinct() -> None:
    for field in ("key", "title"):
        values = [getattr(one, field) for one in references().values()]
        assert len(values) == len(set(values))
    links = [one.link for one in references().values() if one.link]
    assert len(links) == len(set(links))
    rows = (resources_folder() / "report" / "bibliography.tsv").read_text("utf-8").splitlines()
    assert len(rows) == 1 + len(references())
    assert rows[1:] == sorted(rows[1:], key=lambda row: row.split("\t")[0].casefold())


def test_an_entry_as_text() -> None:
    one = references()["Press & Wolf 2017"]
    assert one.text == (
        "O. Press, L. Wolf (2017). Using the Output Embedding to Improve Language Models. "
        "EACL 2017."
    )
    assert one.link == "https://arxiv.org/abs/1608.05859"
    assert "about efficient neural networks? " not in references()["Iandola et al. 2020"].text
    assert references()["Iandola et al. 2020"].text.endswith("about efficient neural networks?")


@pytest.mark.parametrize("name", preset_names())
def test_the_model_of_a_preset_is_its_paper(name: str) -> None:
    work = model_reference(SourceInfo("preset", name, "base", "none"), "")
    assert work is not None
    assert work in references().values()


@pytest.mark.parametrize(
    ("kind", "name", "origin", "link"),
    [
        ("demo", "demo", "", f"https://huggingface.co/{DEMO_NAME}"),
        ("hub", "hf://org/name@main", "", "https://huggingface.co/org/name"),
        ("folder", "my/folder", "org/base", "https://huggingface.co/org/base"),
        ("folder", "my/folder", "", None),
        # The names of folders.
        ("folder", "my/folder", "base", None),
        ("config", "config.json", "../org/base", None),
    ],
)
def test_the_model_on_the_hub(kind: str, name: str, origin: str, link: str | None) -> None:
    work = model_reference(SourceInfo(kind, name, "base", "pretrained"), origin)
    assert (None if work is None else work.link) == link
    if work is not None:
        assert bibliography((), [work]) == bibliography((), [work, work])
        assert {one.package for one in bibliography((), [work])} == {
            "",
            *("bertviewer", "torch", "transformers"),
        }
