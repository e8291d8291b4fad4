"""HTML page with all pictures of a gallery."""

from collections.abc import Iterable
from html import escape
from pathlib import Path

from tests.screenshots.chapter import Chapter

_HEAD = """<!doctype html><meta charset="utf-8"><title>bertviewer</title><style>
body { font: 14px sans-serif; margin: 24px; }
div { display: grid; grid-template-columns: repeat(auto-fill, minmax(420px, 1fr)); gap: 16px; }
figure { margin: 0; } img { width: 100%; border: 1px solid #ccc; }
</style>
"""


def write_sheet(folder: Path, chapters: Iterable[Chapter]) -> None:
    """Write ``index.html`` with the pictures that are in a folder, chapter by chapter."""
    parts = [_HEAD]
    for chapter in chapters:
        parts.append(f"<h2>{escape(chapter.name)}</h2><div>")
        for _, _, _, file in chapter.files():
            if (folder / file).exists():
                name = escape(file)
                parts.append(
                    f'<figure><a href="{name}"><img loading="lazy" src="{name}" alt=""></a>'
                    f"<figcaption>{name.removesuffix('.png')}</figcaption></figure>"
                )
        parts.append("</div>")
    (folder / "index.html").write_text("\n".join(parts), encoding="utf-8")
