"""What is read from a file of runs is what was written, to the last bit."""

import json
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.saved_runs.file_format import check_belongs, read_runs, read_saved_model
from bertviewer.core.saved_runs.run_file import RunFile
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from bertviewer.report.summary import provenance
from tests.core.formulas.formula_models import TINY
from tests.core.saved_runs.saved_runs import CHECKS, run_file, write

CASES = (
    ("demo", "base", Sentence("The cat sat.", "A dog <b>barks</b>.")),
    ("demo", "sequence-classification", Sentence("💥 猫 سلام")),
    ("albert-base-v2", "base", Sentence("a cat")),
    ("transformer-base", "base", Sentence("a cat", "a dog")),
    ("gpt2", "base", Sentence("a cat", cut=True)),
)


def is_same(one: ActivationRun, other: ActivationRun) -> bool:
    """Whether two runs are equal, their arrays too, which do not count for ``==``."""
    pairs = [
        *zip(one.hidden_states, other.hidden_states, strict=True),
        *((one.outputs[name], other.outputs[name]) for name in one.outputs),
        *(
            (a.token_norms, b.token_norms)
            for a, b in zip(one.modules, other.modules, strict=True)
            if a.token_norms is not None or b.token_norms is not None
        ),
    ]
    return one == other and all(
        a is not None
        and b is not None
        and a.dtype == b.dtype
        and a.shape == b.shape
        and a.tobytes() == b.tobytes()
        for a, b in pairs
    )


@pytest.mark.parametrize(("name", "task", "sentence"), CASES)
def test_runs_come_back_bit_by_bit(
    name: str, task: str, sentence: Sentence, tmp_path: Path
) -> None:
    model = open_model(parse_source(name, task))
    run = run_sentence(model, sentence, random_weights=True)
    file, path = run_file(model, run, run), tmp_path / "runs.bertviewer"
    write(path, file)
    found = read_runs(path)
    assert found == file
    assert is_same(found.run, run)
    assert found.baseline is not None
    assert is_same(found.baseline, run)
    # What tokens stand for, and which sentence they are of, does not count for ``==`` either.
    for one, other in zip(found.run.tokens, run.tokens, strict=True):
        assert (one.written, one.sentence) == (other.written, other.sentence)
    assert found.checks == CHECKS
    check_belongs(path, found, model.architecture)


def test_what_is_not_finite_comes_back(tmp_path: Path) -> None:
    model = open_model(parse_source("demo"))
    run = run_sentence(model, Sentence("a cat"))
    states = tuple(np.array(state) for state in run.hidden_states)
    states[2][0, :3] = np.nan, np.inf, -np.inf
    norms = (tuple(None for _ in run.tokens), *run.token_norms[1:])
    odd = replace(run, hidden_states=states, token_norms=norms)
    write(tmp_path / "runs.bertviewer", run_file(model, odd))
    assert is_same(read_runs(tmp_path / "runs.bertviewer").run, odd)


def test_the_model_is_opened_from_the_file_alone(tmp_path: Path) -> None:
    model = open_model(parse_source("demo", "sequence-classification"))
    run = run_sentence(model, Sentence("a cat"))
    path = tmp_path / "sent.bertviewer"
    write(path, run_file(model, run))
    assert read_saved_model(path)[1] == "sequence-classification"
    source = parse_source(str(path))
    assert source.kind == "runs"
    assert not source.has_weights
    opened = open_model(source)
    assert opened.architecture.modules == model.architecture.modules
    assert opened.architecture.config == model.architecture.config
    assert opened.source.task.name == "sequence-classification"
    assert opened.architecture.source.weights == "none"
    assert provenance(opened.architecture.source).startswith(f"Saved runs {path}")


def test_what_is_known_of_the_model_stands_in_it(tmp_path: Path) -> None:
    model = open_model(parse_source("demo"))
    write(tmp_path / "x.bertviewer", run_file(model, run_sentence(model, Sentence("a"))))
    found: RunFile = read_runs(tmp_path / "x.bertviewer")
    assert (found.model.kind, found.model.name, found.model.task) == ("demo", "demo", "base")
    weights = parse_source("demo").path / "model.safetensors"
    assert found.model.files == {"model.safetensors": weights.stat().st_size}
    assert len(found.model.sha256["model.safetensors"]) == 64
    assert found.versions.keys() >= {"bertviewer", "torch", "transformers"}


def test_runs_of_another_model_are_refused(tmp_path: Path) -> None:
    model, other = open_model(parse_source("demo")), open_model(parse_source("gpt2"))
    file = run_file(model, run_sentence(model, Sentence("a cat")))
    with pytest.raises(UserError, match="its model has no module 'embeddings'"):
        check_belongs(tmp_path, file, other.architecture)


def test_tokens_of_another_vocabulary_are_refused(tmp_path: Path) -> None:
    model = open_model(parse_source("demo"))
    run = run_sentence(model, Sentence("a cat"))
    check_belongs(tmp_path, run_file(model, run), model.architecture)
    first, *others = run.tokens
    foreign = replace(run, tokens=(replace(first, id=40_000), *others))
    with pytest.raises(
        UserError, match="its tokens belong to another model: 40,000 is not a token id of 30,5"
    ):
        check_belongs(tmp_path, run_file(model, foreign), model.architecture)


@pytest.mark.parametrize(
    ("model_type", "sizes", "most"),
    [
        ("bert", {"max_position_embeddings": 16}, 16),
        ("roberta", {"max_position_embeddings": 18}, 16),
        ("bart", {"max_position_embeddings": 16}, 32),
        ("llama", {"max_position_embeddings": 16}, None),
        ("t5", {}, None),
    ],
)
def test_more_tokens_than_the_model_takes_are_refused(
    model_type: str, sizes: dict[str, int], most: int | None, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(
        json.dumps({"model_type": model_type, **TINY[model_type], **sizes})
    )
    model = open_model(parse_source(str(tmp_path)))
    file = run_file(model, run_sentence(model, Sentence("a"), random_weights=True))
    check_belongs(tmp_path, file, model.architecture)

    def of(count: int) -> RunFile:
        return replace(file, run=replace(file.run, tokens=file.run.tokens[:1] * count))

    check_belongs(tmp_path, of(most or 9_000), model.architecture)
    if most is not None:
        with pytest.raises(UserError, match=f"its run has 90 tokens, and its model takes {most}$"):
            check_belongs(tmp_path, of(90), model.architecture)
