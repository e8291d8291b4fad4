"""What PDF/A-2a and PDF/UA-1 ask for, as far as it can be read off a file."""

import re
from collections.abc import Iterator
from typing import Any

import pypdf
import pytest
from pypdf.generic import ContentStream, DictionaryObject, StreamObject

from tests.report.reading import Report

FORBIDDEN_FILTERS = {"/LZWDecode", "/Crypt"}


@pytest.fixture(scope="module")
def objects(report: Report) -> list[Any]:
    """All objects of the file."""
    reader = report.reader
    numbers = [number for table in reader.xref.values() for number in table]
    numbers += list(reader.xref_objStm)
    return [reader.get_object(number) for number in sorted(set(numbers)) if number]


def catalog(report: Report) -> dict[str, Any]:
    return {key: value.get_object() for key, value in report.reader.root_object.items()}


def dictionaries(objects: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield all dictionaries, those within others too."""
    left = list(objects)
    while left:
        value = left.pop()
        if isinstance(value, DictionaryObject):
            yield value
            left += [inner for inner in value.values() if isinstance(inner, dict | list)]
        elif isinstance(value, list):
            left += [inner for inner in value if isinstance(inner, dict | list)]


def elements(report: Report) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    """Yield each element of the structure, with the elements in it."""
    left = [catalog(report)["/StructTreeRoot"]]
    while left:
        element = left.pop()
        kids: Any = element.get("/K", pypdf.generic.ArrayObject()).get_object()
        below = [kid.get_object() for kid in (kids if isinstance(kids, list) else [kids])]
        inner = [kid for kid in below if isinstance(kid, dict) and "/S" in kid]
        if "/S" in element:
            yield element, inner
        left += inner


def tags(report: Report, kind: str) -> list[tuple[dict[str, Any], list[dict[str, Any]]]]:
    return [(one, inner) for one, inner in elements(report) if one["/S"] == kind]


def test_the_file_says_what_it_is(report: Report) -> None:
    known = catalog(report)
    xmp = known["/Metadata"].get_data().decode()
    for said in (
        "<pdfaid:part>2</pdfaid:part>",
        "<pdfaid:conformance>A</pdfaid:conformance>",
        "<pdfuaid:part>1</pdfuaid:part>",
        '<dc:title><rdf:Alt><rdf:li xml:lang="x-default">demo</rdf:li></rdf:Alt></dc:title>',
        "<rdf:li>A. Student</rdf:li>",
    ):
        assert said in xmp
    # What is no schema of PDF/A's own is described.
    for prefix in ("pdfuaid", "xmpMM", "pdf"):
        assert f"<pdfaSchema:prefix>{prefix}</pdfaSchema:prefix>" in xmp
    assert "/Filter" not in known["/Metadata"]
    assert isinstance(ids := report.reader.trailer["/ID"], list)
    assert len(ids) == 2
    assert "/Encrypt" not in report.reader.trailer
    assert known["/MarkInfo"] == {"/Marked": True, "/Suspects": False}
    assert known["/Lang"] == "en"
    assert known["/ViewerPreferences"]["/DisplayDocTitle"]


def test_colours_have_a_profile(report: Report) -> None:
    (intent,) = (one.get_object() for one in catalog(report)["/OutputIntents"])
    assert intent["/S"] == "/GTS_PDFA1"
    profile = intent["/DestOutputProfile"].get_object()
    data = profile.get_data()
    assert data[36:40] == b"acsp"
    assert profile["/N"] == {b"RGB ": 3, b"GRAY": 1, b"CMYK": 4}[data[16:20]]
    assert data[8] <= 4


def test_nothing_acts_and_nothing_is_attached(report: Report, objects: list[Any]) -> None:
    known = catalog(report)
    assert not {"/OpenAction", "/AA", "/AcroForm", "/Perms", "/Requirements"} & known.keys()
    assert not {"/JavaScript", "/EmbeddedFiles"} & dict(known.get("/Names", {})).keys()
    actions = {one["/S"] for one in dictionaries(objects) if one.get("/Type") == "/Action"}
    assert actions == {"/URI"}
    assert not any("/AA" in one for one in dictionaries(objects))
    for one in objects:
        if isinstance(one, StreamObject):
            filters = one.get("/Filter", [])
            assert not FORBIDDEN_FILTERS & set(filters if isinstance(filters, list) else [filters])
            assert not {"/F", "/FFilter", "/FDecodeParms"} & one.keys()


def test_links_have_words_and_are_printed(report: Report) -> None:
    links = [note.get_object() for page in report.reader.pages for note in page.get("/Annots", ())]
    assert links
    for link in links:
        assert link["/Subtype"] == "/Link"
        assert link["/F"] & 4
        assert not link["/F"] & 0b100011
        assert link["/Contents"]
        assert "/StructParent" in link
        target = link.get("/A", {"/S": "/GoTo"})
        assert target["/S"] in ("/GoTo", "/URI")
        if target["/S"] == "/URI":
            assert target["/URI"].startswith("https://")


def test_every_font_is_inside_and_says_what_its_letters_are(objects: list[Any]) -> None:
    fonts = [one for one in dictionaries(objects) if one.get("/Type") == "/Font"]
    whole = [font for font in fonts if font["/Subtype"] in ("/Type0", "/Type1", "/TrueType")]
    assert whole
    for font in whole:
        assert font["/ToUnicode"].get_object().get_data()
        inner: Any = font["/DescendantFonts"][0] if "/DescendantFonts" in font else font
        descriptor = inner.get_object()["/FontDescriptor"]
        name = str(font["/BaseFont"])
        assert {"/FontFile", "/FontFile2", "/FontFile3"} & descriptor.keys(), name
        assert re.match(r"/[A-Z]{6}\+", name), name
        assert name.partition("+")[2].startswith(
            ("Libertinus", "Inter", "JetBrainsMono", "NewCM", "DejaVuSansMono")
        ), name
    for font in fonts:
        assert font["/Subtype"] in ("/Type0", "/CIDFontType0", "/CIDFontType2"), font


def test_what_shines_through_has_a_space_of_colours(report: Report, objects: list[Any]) -> None:
    shining = [
        one
        for one in dictionaries(objects)
        if one.get("/Type") == "/ExtGState" and (one.get("/ca", 1) != 1 or one.get("/CA", 1) != 1)
    ]
    assert shining, "nothing to look at"
    for page in report.reader.pages:
        group = page.get("/Group")
        assert group is None or "/CS" in group.get_object()
    for one in dictionaries(objects):
        assert one.get("/BM", "/Normal") in ("/Normal", "/Compatible", "/Multiply")
        assert not {"/TR", "/HTP"} & one.keys()


def test_every_word_is_tagged_or_an_artifact(report: Report) -> None:
    for page in report.reader.pages[::7]:
        depth = 0
        stream = ContentStream(page.get_contents(), report.reader)
        for _, operator in stream.operations:
            depth += {b"BDC": 1, b"BMC": 1, b"EMC": -1}.get(operator, 0)
            if operator in (b"Tj", b"TJ"):
                assert depth > 0
        assert depth == 0
        assert str(page["/Tabs"]) == "/S"


def test_pictures_and_formulas_are_told_in_words(report: Report) -> None:
    figures = tags(report, "/Figure")
    assert len(figures) > 8
    assert all(len(figure["/Alt"]) > 10 for figure, _ in figures)
    formulas = tags(report, "/Formula")
    assert len(formulas) > 30
    assert all(formula["/Alt"] for formula, _ in formulas)


def test_tables_have_heads(report: Report) -> None:
    tables = tags(report, "/Table")
    assert len(tables) > 10
    for _, parts in tables:
        head, *_ = (part for part in parts if part["/S"] == "/THead")
        (row,) = (kid.get_object() for kid in head["/K"])
        cells = [kid.get_object() for kid in row["/K"]]
        assert any(cell["/S"] == "/TH" for cell in cells)


def test_headings_go_down_by_one(report: Report) -> None:
    found = [str(one["/S"]) for one, _ in elements(report) if re.match(r"/H\d", str(one["/S"]))]
    assert set(found) == {"/H1", "/H2"}
