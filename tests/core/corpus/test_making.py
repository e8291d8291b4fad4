"""Making a corpus: interrupted runs, and several processes or threads, end with the same bytes."""

import errno
import io
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from bertviewer.core.corpus.batches import token_limit
from bertviewer.core.corpus.heartbeat import Timeouts
from bertviewer.core.corpus.making import SINGLE_PROCESS, CorpusRequest, Process, make_corpus
from bertviewer.core.corpus.options import MAX_TOKENS, CorpusOptions
from bertviewer.core.corpus.plan import SHARDS_FOLDER
from bertviewer.core.corpus.reading import read_corpus, read_manifest
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.saved_runs.file_format import read_runs
from bertviewer.core.schema.activation_run import Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import Cancelled, UserError
from bertviewer.core.util.progress import Progress, no_progress
from tests.core.corpus.making_corpora import SEVEN, content, corpus_of, made
from tests.core.saved_runs.saved_runs import run_file, write

OTHER = CorpusOptions(shards=7, batch_tokens=99)


def shards_in(folder: Path) -> list[Path]:
    return sorted((folder / SHARDS_FOLDER).glob("*.shard"))


def at_sentence(action: Callable[[], object]) -> Progress:
    """Return a progress callback that does something while sentences are run."""

    def progress(done: int, total: int, label: str) -> None:
        if label.startswith("Sentence"):
            action()

    return progress


@pytest.mark.parametrize("world", [1, 2, 3])
def test_processes_and_threads(
    model: LoadedModel, data: Path, tmp_path: Path, whole: Path, world: int
) -> None:
    threads = torch.get_num_threads()
    for rank in reversed(range(world)):
        found = made(model, data, tmp_path, process=Process(rank, world, threads=4 - world))
        assert (found is None) is (rank > 0)
    assert content(tmp_path) == content(whole)
    assert torch.get_num_threads() == threads
    assert torch.is_grad_enabled()


def test_a_process_that_is_dead(
    model: LoadedModel, data: Path, tmp_path: Path, whole: Path
) -> None:
    timeouts = Timeouts(unheard=0.01, pause=0.001)
    with pytest.raises(UserError, match=r"process 1 of 3 did not report .* 4 of 7 shards are miss"):
        made(model, data, tmp_path, process=Process(0, 3), timeouts=timeouts)
    made(model, data, tmp_path)
    assert content(tmp_path) == content(whole)


def test_a_run_that_is_cancelled_again_and_again(
    model: LoadedModel, data: Path, tmp_path: Path, whole: Path
) -> None:
    left = 0

    def stop() -> None:
        nonlocal left
        left -= 1
        if not left:
            raise Cancelled

    cancelled = 0
    for seed in range(20):
        left = random.Random(seed).randint(1, 3)
        try:
            made(model, data, tmp_path, process=Process(threads=2), progress=at_sentence(stop))
        except Cancelled:
            cancelled += 1
        else:
            break
    else:
        made(model, data, tmp_path)
    assert cancelled
    assert content(tmp_path) == content(whole)


def test_a_broken_shard_is_run_again(
    model: LoadedModel, data: Path, tmp_path: Path, whole: Path
) -> None:
    made(model, data, tmp_path, process=Process(1, 2))
    broken = shards_in(tmp_path)[0]
    broken.write_bytes(broken.read_bytes()[:-9])
    made(model, data, tmp_path)
    assert content(tmp_path) == content(whole)


def test_a_full_disk_costs_no_finished_shard(
    model: LoadedModel, data: Path, tmp_path: Path, whole: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync, written = os.fsync, 0

    def full(file: int) -> None:
        nonlocal written
        written += 1
        if written > 4:
            raise OSError(errno.ENOSPC, "No space left on device")
        sync(file)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(UserError, match=r"cannot write .*shard: No space left on device"):
            made(model, data, tmp_path)
    assert len(shards_in(tmp_path)) == 3  # the plan was written first
    made(model, data, tmp_path)
    assert content(tmp_path) == content(whole)


def test_data_that_vanish_cost_no_finished_shard(
    model: LoadedModel, data: Path, tmp_path: Path, whole: Path
) -> None:
    copy, folder = Path(shutil.copy(data, tmp_path)), tmp_path / "out"
    made(model, copy, folder, process=Process(1, 2))
    with pytest.raises(UserError, match=r"lines\.txt: No such file or directory"):
        made(model, copy, folder, progress=at_sentence(lambda: copy.unlink(missing_ok=True)))
    assert shards_in(folder)
    shutil.copy(data, tmp_path)
    made(model, copy, folder)
    assert content(folder) == content(whole)


def test_a_file_that_grows(model: LoadedModel, data: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copy(data, tmp_path))

    def grow() -> None:
        with copy.open("a", encoding="utf-8") as file:
            file.write("more\n")

    with pytest.raises(UserError, match=r"lines\.txt: the file changed while it was being read"):
        made(model, copy, tmp_path / "out", progress=at_sentence(grow))


def test_other_options_are_another_run(
    model: LoadedModel, data: Path, tmp_path: Path, whole: Path
) -> None:
    made(model, data, tmp_path, process=Process(1, 2))
    with pytest.raises(UserError, match=r"shards of another run \(options differ\)"):
        made(model, data, tmp_path, OTHER)
    before = content(whole)
    made(model, data, whole)
    assert content(whole) == before
    with pytest.raises(UserError, match="already holds another corpus"):
        made(model, data, whole, OTHER)


def test_folders_with_other_files(model: LoadedModel, data: Path, tmp_path: Path) -> None:
    message = r"the folder contains other files, such as notes\.txt"
    notes, shards = tmp_path / "a" / "notes.txt", tmp_path / "b" / SHARDS_FOLDER / "notes.txt"
    for file in (notes, shards):
        file.parent.mkdir(parents=True)
        file.write_text("mine", encoding="utf-8")
    with pytest.raises(UserError, match=message):
        made(model, data, notes.parent)
    with pytest.raises(UserError, match=f"shards: {message}"):
        made(model, data, shards.parents[1])
    assert shards.exists()


def test_standard_input_is_read_once(model: LoadedModel, tmp_path: Path) -> None:
    def run(*names: str, stdin: bytes = b"the cat\n") -> None:
        request = CorpusRequest(tuple(map(Path, names)), CorpusOptions(), tmp_path, "")
        make_corpus(model, request, no_progress, SINGLE_PROCESS, io.BytesIO(stdin))

    with pytest.raises(UserError, match="-: standard input can be read only once"):
        run("-", "-")
    run("-")
    before = content(tmp_path)
    run("-")
    assert content(tmp_path) == before
    with pytest.raises(UserError, match="already holds another corpus"):
        run("-", stdin=b"the mat\n")
    assert content(tmp_path) == before


def lines(folder: Path, *texts: str) -> Path:
    file = folder / "lines.txt"
    file.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return file


@pytest.mark.parametrize(("keeps_end", "kept"), [(False, "cat sat"), (True, "sat cat")])
def test_the_tokenizer_decides_which_end_is_cut(
    keeps_end: bool,
    kept: str,
    model: LoadedModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(model.tokenizer(), "keeps_end", keeps_end)
    statistics = []
    for text in (f"cat sat {'cat ' * 3}sat cat", kept):
        folder = tmp_path / f"{len(text)}"
        corpus_of(model, lines(tmp_path, text), folder, CorpusOptions(shards=1, max_tokens=4))
        statistics.append(content(folder)["statistics.parquet"])
    assert statistics[0] == statistics[1]


def test_sentences_that_cannot_be_run(
    model: LoadedModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = lines(tmp_path, "the cat", "cat " * 62, "[SEP] " * 80, "the cat")
    whole = corpus_of(model, data, tmp_path / "whole")
    assert (whole.sentences, whole.manifest["unread"], whole.manifest["cut"]) == (4, 0, 1)
    with pytest.raises(UserError, match=r"no sentence could be run: .* --max-tokens leaves no"):
        made(model, data, tmp_path / "none", CorpusOptions(max_tokens=2))
    tokenizer = model.tokenizer()
    encode = tokenizer.encode_each
    monkeypatch.setattr(
        tokenizer, "encode_each", lambda texts, *more: [*encode(texts, *more)[:-1], "it fails"]
    )
    found = corpus_of(model, data, tmp_path / "out", CorpusOptions(shards=1))
    assert (found.sentences, found.manifest["unread"]) == (3, 1)


def test_long_lines_are_cut_for_a_model_without_a_limit() -> None:
    assert token_limit({}, None) == MAX_TOKENS
    assert token_limit({"max_position_embeddings": 10**6}, None) == MAX_TOKENS
    assert token_limit({"max_position_embeddings": 10**6}, 9000) == 9000
    assert token_limit({"max_position_embeddings": 64}, 9000) == 64


def test_file_names_that_are_not_utf8(folder: Path, data: Path, tmp_path: Path) -> None:
    place = tmp_path / os.fsdecode(b"\xff")
    named = place / os.fsdecode(b"lines\xfe.txt")
    model = open_model(parse_source(str(shutil.copytree(folder, place / "model"))))
    shutil.copy(data, named)
    out = tmp_path / "out"
    corpus = corpus_of(model, named, out, SEVEN)
    assert read_corpus(out).sentences == corpus.sentences
    (listed,) = read_manifest(out)["data"]
    assert listed["name"] == "lines?.txt"
    run = run_sentence(model, Sentence("the cat"))
    write(tmp_path / "x.bertviewer", run_file(model, run))
    assert read_runs(tmp_path / "x.bertviewer").run.tokens == run.tokens
