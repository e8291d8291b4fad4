"""A small corpus of the demo, made once."""

from pathlib import Path

import pytest

from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.corpus.making import CorpusRequest, make_corpus
from bertviewer.core.corpus.options import CorpusOptions
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.util.progress import no_progress
from tests.ui.corpus.corpora import LINES


@pytest.fixture(scope="session")
def corpus(
    opened_demo: LoadedModel, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Corpus]:
    place = tmp_path_factory.mktemp("corpus")
    data = place / "lines.txt"
    data.write_text(LINES, encoding="utf-8")
    request = CorpusRequest(
        (data,), CorpusOptions(), place / "out", "bertviewer corpus demo lines.txt -o out"
    )
    found = make_corpus(opened_demo, request, no_progress)
    assert found is not None
    return place / "out", found
