"""A model of the hub opens as it was saved, and is tied as its weights are, once they are here."""

from pathlib import Path

import pytest

from bertviewer.core.hub.connection import Hub
from bertviewer.core.loading.opening import open_model
from bertviewer.core.sources.parsing import parse_source
from tests.core.hub.conftest import REPO
from tests.core.hub.hub_server import HubServer
from tests.core.loading.tiny_models import save_model, write_tensors


@pytest.mark.parametrize("is_tied", [True, False])
def test_it_is_tied_as_its_weights_are(
    server: HubServer, hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_tied: bool
) -> None:
    saved = save_model(tmp_path / "saved", "BertForMaskedLM")
    tensors = {name: tensor.clone() for name, tensor in saved.state_dict().items()}
    del tensors["cls.predictions.decoder.bias"]
    if not is_tied:
        tensors["cls.predictions.decoder.weight"] += 1
    write_tensors(tmp_path / "saved", tensors)
    server.add(REPO, {file.name: file.read_bytes() for file in (tmp_path / "saved").iterdir()})
    monkeypatch.setattr("bertviewer.core.hub.opening.connect", lambda: hub)
    model = open_model(parse_source(f"hf://{REPO}"))
    assert model.source.task.name == "masked-lm"
    module = model.module(random_weights=False)
    real = sum(p.numel() for p in module.parameters())
    assert model.architecture.root.parameters == real
    assert real == sum(p.numel() for p in saved.parameters()) + (0 if is_tied else 24 * 16)
    assert model.was_corrected == is_tied  # different values are assumed until they are here
    assert model.architecture.source.weights == "pretrained"
