"""README, user guide, CONTRIBUTING and ARCHITECTURE agree with the program."""

import os
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertviewer.cli.arguments import EXAMPLES, parse
from bertviewer.ui.help.guide_sections import CONTENTS, anchor_of, guide_sections
from tests.tools.subprocesses import output_of

ROOT = Path(__file__).parents[1]
README, GUIDE = ROOT / "README.md", ROOT / "resources" / "help"
PICTURES = ROOT / "resources" / "screenshots"
CHAPTERS = sorted(GUIDE.glob("*.md"))
PAGES = {
    str(page.relative_to(ROOT)): page.read_text(encoding="utf-8")
    for page in (README, *CHAPTERS, *sorted((ROOT / ".github").glob("*.md")))
}
TEXTS = pytest.mark.parametrize("page", PAGES)


def code(text: str, language: str) -> list[str]:
    """Return the code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def commands(text: str) -> Iterator[list[str]]:
    """Yield the arguments of each ``bertviewer`` command, in code blocks and inline code."""
    inline = re.findall(r"`(bertviewer [^`\n]+)`", text)
    lines = "".join(code(text, "bash")).replace("\\\n", " ").splitlines()
    for line in (*lines, *inline):
        before, _, arguments = line.partition("bertviewer ")
        if re.fullmatch(r"(.*-m |.*/bin/)?", before) and "…" not in line:
            yield shlex.split(arguments.partition(" > ")[0])


def anchors(text: str) -> set[str]:
    return {anchor_of(heading) for heading in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@TEXTS
def test_links_have_targets(page: str) -> None:
    for link in re.findall(r"\]\(([^)]*)\)", PAGES[page]):
        file, _, anchor = link.partition("#")
        target = (ROOT / page).parent / file if file else ROOT / page
        assert target.is_file(), link
        assert not anchor or anchor in anchors(target.read_text(encoding="utf-8")), link


@TEXTS
def test_commands_can_be_parsed(page: str) -> None:
    for arguments in commands(PAGES[page]):
        if arguments[-1] in ("--help", "--version"):
            with pytest.raises(SystemExit):
                parse(arguments)
        else:
            parse(arguments)


def test_commands_are_found() -> None:
    found = list(commands(PAGES["README.md"]))
    assert ["report", "demo", "-o", "demo.pdf", "--sentence", "Hello, BERT."] in found
    assert len(found) > 8


@pytest.mark.parametrize("command", EXAMPLES)
def test_examples_of_help_can_be_parsed(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    for example in EXAMPLES[command]:
        ((*_, arguments),) = [list(commands(f"```bash\n{example}\n```\n"))]
        assert parse(arguments).command == command
    with pytest.raises(SystemExit):
        parse(["--help"] if command == "window" else [command, "--help"])
    assert "\n  ".join(EXAMPLES[command]) in capsys.readouterr().out


@TEXTS
def test_paths_exist(page: str) -> None:
    places = [ROOT, ROOT / "bertviewer"]
    for path in re.findall(
        r"`((?:api|core|cli|charts|plots|report|resources|packaging|ui|tests)/[\w./*]+)`",
        PAGES[page],
    ):
        assert any(list(place.glob(path.rstrip("/"))) for place in places), path
    for module in re.findall(r"\btests\.(\w+)", PAGES[page]):
        assert list((ROOT / "tests").glob(f"{module}*")), module


def test_pictures_are_used_and_small() -> None:
    linked = {
        ((ROOT / page).parent / link).resolve()
        for page, text in PAGES.items()
        for link in re.findall(r"!\[[^]]+\]\(([^)]*)\)", text)
    }
    assert linked == {path.resolve() for path in PICTURES.iterdir()}
    assert all(path.stat().st_size < 200_000 for path in PICTURES.iterdir())


def test_readme_is_short_and_chapters_fit_a_screen() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 180
    for chapter in CHAPTERS:
        assert 30 <= len(chapter.read_text(encoding="utf-8").splitlines()) <= 75, chapter.name


def test_the_contents_link_every_chapter() -> None:
    listed = {section.address.partition("#")[0] for section in guide_sections()}
    assert listed == {chapter.name for chapter in CHAPTERS}
    assert guide_sections()[0].address == CONTENTS


def test_guide_links_stay_within_an_installation() -> None:
    for chapter in CHAPTERS:
        for link in re.findall(r"\]\(([^)]*)\)", chapter.read_text(encoding="utf-8")):
            assert re.fullmatch(r"[\w-]+\.md(#[\w-]+)?|\.\./screenshots/\w+\.png", link), link


def test_the_architecture_lists_the_folders_of_core() -> None:
    _, _, table = PAGES[".github/ARCHITECTURE.md"].partition("In `core/`:")
    rows = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    core = ROOT / "bertviewer" / "core"
    assert sorted(listed) == sorted(path.parent.name for path in core.glob("*/__init__.py"))


def test_example_scripts_run_without_qt(tmp_path: Path) -> None:
    scripts = code(PAGES["resources/help/scripting.md"], "python")
    assert code(PAGES["README.md"], "python") == scripts[:1]
    lines = "".join(f"The cat sat {times} times.\n" for times in range(50))
    (tmp_path / "lines.txt").write_text(lines, encoding="utf-8")
    without_qt = "import sys\nsys.modules['PySide6'] = None\n"
    shapes = """
weights = model.tensor("pooler.dense.weight")
print(weights.shape, heads.shape, list(inputs), list(outputs), len(rows))
print(corpus.sentences, list(medians)[:2], entropies.shape)
assert all(row["distance"] == 0 for row in bertviewer.compare(corpus, again).modules())
"""
    here = {**os.environ, "PYTHONPATH": str(ROOT)}
    script = without_qt + "\n".join(scripts) + shapes
    printed = output_of([sys.executable, "-c", script], tmp_path, here)
    assert printed.splitlines() == [
        "3·D² + 3·D",
        "= 3·384² + 3·384",
        "= 443,520",
        "(384, 384) (12, 13, 13) ['hidden_states'] ['output.0'] 113",
        "40 ['', 'embeddings'] (12,)",
    ]
    assert (tmp_path / "head.svg").read_text(encoding="utf-8").startswith("<svg")
    assert (tmp_path / "cat.pdf").read_bytes().startswith(b"%PDF")
