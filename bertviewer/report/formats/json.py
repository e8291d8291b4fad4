"""A report as JSON: the document as it is, of the schema ``bertviewer.report/1``.

The whole is an object with four keys:

- ``schema``: the name and the version of what follows;
- ``front``: the title page;
- ``chapters``: a list of sections, each with its ``blocks`` and its ``sections``;
- ``pictures``: drawings by name, each an SVG that is whole by itself.

Every block, row and span says in ``kind`` what it is; its other keys are the attributes of the
class of that name in ``bertviewer.report.blocks``. Plain words are strings. A reference (``see``)
has the ``text`` that it stands for, and what is referred to its ``number``. Mathematics is
Typst's.
"""

import json

from bertviewer.core.util.text import printable_json
from bertviewer.report.document import ReportDocument


def json_of(document: ReportDocument) -> str:
    """Return a document as JSON that is always the same, and reads back as the same texts.

    Signs that move or hide others are escapes of JSON, as are halves of letters outside of
    Unicode's first plane, which no file can hold.
    """
    text = json.dumps(
        document.to_json(), ensure_ascii=False, allow_nan=False, indent=1, sort_keys=True
    )
    return "\n".join(map(printable_json, text.split("\n"))) + "\n"
