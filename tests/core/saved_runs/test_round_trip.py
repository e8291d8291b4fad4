"""Saved runs are read as they were written, bit by bit, and belong to one model."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.opening import open_model
from bertviewer.core.runs.running import run_sentence
from bertviewer.core.saved_runs import run_file as run_files
from bertviewer.core.saved_runs.file_format import check_belongs, read_runs, read_saved_model
from bertviewer.core.schema.activation_run import ActivationRun, Sentence
from bertviewer.core.sources.parsing import parse_source
from bertviewer.core.util.errors import UserError
from bertviewer.report.summary import provenance
from tests.core.formulas.formula_models import TINY
from tests.core.saved_runs.saved_runs import CHECKS, run_file, write


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.bertviewer"


def is_same(one: ActivationRun, other: ActivationRun) -> bool:
    """Return whether two runs are equal, with their arrays, which ``==`` ignores."""

    def arrays(run: ActivationRun) -> list[Any]:
        norms = [module.token_norms for module in run.modules]
        return [*run.hidden_states, *run.outputs.values(), *norms]

    has_equal_names = one.outputs.keys() == other.outputs.keys()
    return (
        has_equal_names
        and one == other
        and all(
            a is b is None
            or (a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes())
            for a, b in zip(arrays(one), arrays(other), strict=True)
        )
    )


def opened(folder: Path, model_type: str, **sizes: Any) -> LoadedModel:
    """Open a small model of a family by its configuration."""
    config = {"model_type": model_type, **TINY[model_type], **sizes}
    (folder / "config.json").write_text(json.dumps(config))
    return open_model(parse_source(str(folder)))


@pytest.mark.parametrize("family", [None, "albert", "transformer-base", "gpt2"])
def test_runs_are_read_bit_by_bit(
    family: str | None, path: Path, model: LoadedModel, run: ActivationRun
) -> None:
    if family is not None:
        model = opened(path.parent, family)
        run = run_sentence(model, Sentence("a cat", "a dog"), random_weights=True)
    file = run_file(model, run, run)
    write(path, file)
    found = read_runs(path)
    assert found == file
    assert found.checks == CHECKS
    for each in found.runs:
        assert is_same(each, run)
        # ``==`` ignores these, too.
        for one, other in zip(each.tokens, run.tokens, strict=True):
            assert (one.written, one.sentence) == (other.written, other.sentence)
    assert len(found.runs) == 2
    check_belongs(path, found, model.architecture)


def test_numbers_that_are_not_finite(path: Path, model: LoadedModel, run: ActivationRun) -> None:
    states = tuple(np.array(state) for state in run.hidden_states)
    states[2][0, :3] = np.nan, np.inf, -np.inf
    norms = ((None,) * len(run.tokens), *run.token_norms[1:])
    changed = replace(run, hidden_states=states, token_norms=norms)
    write(path, run_file(model, changed))
    assert is_same(read_runs(path).run, changed)


def test_the_model_opens_from_the_file_alone(
    path: Path, model: LoadedModel, run: ActivationRun
) -> None:
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


def test_the_file_describes_its_model(path: Path) -> None:
    model = open_model(parse_source("demo"))
    write(path, run_file(model, run_sentence(model, Sentence("a"))))
    found = read_runs(path)
    assert (found.model.kind, found.model.name, found.model.task) == ("demo", "demo", "base")
    weights = parse_source("demo").path / "model.safetensors"
    assert found.model.files == {"model.safetensors": weights.stat().st_size}
    assert len(found.model.sha256["model.safetensors"]) == 64
    assert found.versions.keys() >= {"bertviewer", "torch", "transformers"}


def with_foreign_token(run: ActivationRun) -> ActivationRun:
    first, *others = run.tokens
    return replace(run, tokens=(replace(first, id=40_000), *others))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_foreign_token, "its tokens belong to another model: 40,000 is not a token id of 200"),
        (
            lambda run: replace(run, modules=(replace(run.modules[0], path="x"),)),
            "its model has no module 'x'",
        ),
        (
            lambda run: replace(run, state_paths=(("y",),) * len(run.state_paths)),
            "its model has no module 'y'",
        ),
    ],
)
def test_runs_of_another_model_are_refused(
    change: Callable[[ActivationRun], ActivationRun],
    message: str,
    path: Path,
    model: LoadedModel,
    run: ActivationRun,
) -> None:
    check_belongs(path, run_file(model, run), model.architecture)
    for file in (run_file(model, change(run)), run_file(model, run, change(run))):
        with pytest.raises(UserError, match=message):
            check_belongs(path, file, model.architecture)


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
    model = opened(tmp_path, model_type, **sizes)
    file = run_file(model, run_sentence(model, Sentence("a"), random_weights=True))

    def check(count: int) -> None:
        tokens = file.run.tokens[:1] * count
        check_belongs(
            tmp_path, replace(file, run=replace(file.run, tokens=tokens)), model.architecture
        )

    check(1)
    check(most or 9_000)
    if most is not None:
        with pytest.raises(UserError, match=f"its run has 90 tokens, and its model takes {most}$"):
            check(90)


def test_a_run_that_is_too_large_is_not_written(
    model: LoadedModel, run: ActivationRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_files, "MAX_TOKENS", len(run.tokens) - 1)
    with pytest.raises(UserError, match=r"it cannot be saved: its run has .* which is too much"):
        run_file(model, run)
