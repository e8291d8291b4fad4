"""The same document gives the same files, whatever seed Python's hashes have."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = """\
import hashlib
from bertviewer.report.options import Options
from bertviewer.report.formats.formats import FORMATS
from tests.report.formats.documents import full_document

for form in FORMATS:
    written = form.write(full_document(), Options(), "report-figures")
    for name, content in (("", written.content), *written.pictures.items()):
        print(form.name, name, hashlib.sha256(content).hexdigest())
"""


def test_hashes_of_two_seeds_give_the_same_bytes() -> None:
    root = Path(__file__).parents[3]
    found = []
    for seed in "01":
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root)}
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env=environment,
            cwd=root,
            capture_output=True,
            text=True,
            check=True,
        )
        found.append(done.stdout)
    assert found[0] == found[1]
    assert found[0].count("\n") == 9
