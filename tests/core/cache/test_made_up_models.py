"""Nothing that the cache holds is believed that does not prove itself."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from bertviewer.core.loading.cached_models import ModelSpec, spec_content
from bertviewer.core.schema.architecture import Architecture
from tests.core.cache.cached import SOURCE, change, change_architecture, files, opened

pytestmark = pytest.mark.usefixtures("cache")


@pytest.mark.parametrize("kind", ["architectures", "key-reports"])
@pytest.mark.parametrize("content", [b"", b"\0" * 100])
def test_a_damaged_file_is_thrown_away(
    folder: Path, cache: Path, kind: str, content: bytes, building: list[str]
) -> None:
    first = opened(folder)
    (file,) = files(cache, kind)
    file.write_bytes(content)
    second = opened(folder)
    assert len(building) == 2
    assert second.architecture == first.architecture
    # The one that was made anew is whole.
    assert opened(folder).architecture == first.architecture
    assert len(building) == 2


def test_a_wrong_formula_is_thrown_away(
    folder: Path, cache: Path, derived: Architecture, building: list[str], notes: list[str]
) -> None:
    wrong = [replace(node, count_formula="V*D + 1") for node in derived.modules[1:]]
    change_architecture(cache, replace(derived, modules=(derived.modules[0], *wrong)))
    assert opened(folder).with_formulas() == derived
    assert len(building) == 1
    assert "discarded" in notes[0]
    assert "V*D + 1" in notes[0]


def test_a_formula_is_never_run(
    folder: Path, cache: Path, derived: Architecture, building: list[str]
) -> None:
    call = "__import__('os').abort()"
    wrong = (replace(derived.modules[0], count_formula=call), *derived.modules[1:])
    change_architecture(cache, replace(derived, modules=wrong))
    assert opened(folder).with_formulas() == derived
    assert len(building) == 1


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("architectures", {"architecture": {"schema": "another/1"}}),
        ("architectures", {"architecture": None}),
        ("architectures", {"heads": None}),
        ("key-reports", {"stored": {"pooler.dense.bias": "no such key"}}),
        ("key-reports", {"stored": {"pooler.dense.bias": "pooler.dense.weight"}}),
        ("key-reports", {"missing": None}),
        ("key-reports", {"missing": [5]}),
        ("key-reports", {"files": None}),
        ("key-reports", {"renamed": ["x"]}),
        ("key-reports", {"stored_dtypes": {"F32": "x"}}),
        ("key-reports", {"more": 1}),
    ],
)
def test_a_file_that_was_made_up_is_thrown_away(
    folder: Path, cache: Path, kind: str, changes: dict[str, Any], building: list[str]
) -> None:
    first = opened(folder)
    change(cache, kind, **changes)
    second = opened(folder)
    assert len(building) == 2
    assert second.architecture == first.architecture
    assert second.load_report == first.load_report


def test_what_only_seems_right_is_put_right_when_torch_is_there(
    folder: Path,
    cache: Path,
    derived: Architecture,
    building: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from bertviewer.core.loading import loaded_model

    notes: list[str] = []
    monkeypatch.setattr(loaded_model, "write_log", notes.append)
    lie = tuple(replace(node, class_name="Another") for node in derived.modules)
    change_architecture(cache, replace(derived, modules=lie))
    model = opened(folder)
    assert model.architecture.root.class_name == "Another"
    assert len(building) == 0
    model.ensure_built()
    assert model.architecture.root.class_name == "BertModel"
    assert "not what the cache says" in notes[0]
    assert model.with_formulas() == derived
    assert opened(folder).architecture == derived


def test_a_wrong_key_report_costs_no_formulas(
    folder: Path, cache: Path, derived: Architecture
) -> None:
    change(cache, "key-reports", unexpected=["made.up"])
    model = opened(folder)
    assert model.load_report is not None
    assert "made.up" in model.load_report.unexpected
    model.ensure_built()
    assert model.was_corrected
    assert "made.up" not in model.load_report.unexpected
    assert model.architecture == derived


@pytest.mark.parametrize(
    "lie",
    [
        ("", "config", None),
        ("", "modules", []),
        ("", "symbols", {"D": {"key": None, "value": 16, "meaning": ""}}),
        ("", "config", {"model_type": "gpt2"}),
        ("modules", "class", None),
        ("modules", "share", "x"),
        ("modules", "share", 99.0),
        ("modules", "attributes", None),
        ("modules", "attributes", {"eps": []}),
        ("modules", "trainable", 1),
        ("modules", "own_parameters", 1),
        ("modules", "repeat", {"first": 0, "last": "x", "count": 2}),
        ("parameters", "dtype", None),
        ("parameters", "shape", ["x"]),
        ("parameters", "trainable", False),
    ],
)
def test_a_field_of_another_type_or_count_is_noticed(
    folder: Path, cache: Path, lie: tuple[str, str, Any], building: list[str]
) -> None:
    first = opened(folder).architecture
    change(cache, "architectures", architecture=told(first, *lie))
    assert opened(folder).architecture == first
    assert len(building) == 2


@pytest.mark.parametrize(
    "lie", [("peak_fixed", None), ("variables", {"D": 5}), ("peak_elements", [5])]
)
def test_a_wrong_cost_is_noticed(
    folder: Path, cache: Path, derived: Architecture, lie: tuple[str, Any], building: list[str]
) -> None:
    change(cache, "architectures", architecture=told(derived, "compute", *lie))
    again = opened(folder)
    assert len(building) == 1
    assert again.with_formulas() == derived


def told(architecture: Architecture, part: str, field: str, value: object) -> dict[str, Any]:
    """Return what the cache says of an architecture, with a lie in it."""
    document: dict[str, Any] = spec_content(ModelSpec(SOURCE, architecture, ("base",)))[
        "architecture"
    ]
    place = document[part] if part else document
    (place[-1] if isinstance(place, list) else place)[field] = value
    return document
