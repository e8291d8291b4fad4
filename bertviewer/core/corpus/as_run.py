"""A corpus as a run of many sentences, for what reads the figures of modules and no tokens."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from bertviewer.core.corpus.corpus import Corpus
from bertviewer.core.schema.activation_run import ActivationRun, ModuleActivation, Sentence
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.source_info import SourceInfo
from bertviewer.core.schema.statistics import Statistics
from bertviewer.core.util.errors import UserError


def as_run(corpus: Corpus) -> ActivationRun:
    """Return the modules with the statistics of each of their calls, at all tokens together."""
    calls: dict[str, list[Statistics]] = {}
    for path, call in corpus.places:
        if (found := corpus.of(path, call)) is not None:
            calls.setdefault(path, []).append(found.statistics)
    classes = {module["path"]: module["class"] for module in corpus.manifest["modules"]}
    return ActivationRun(
        source=SourceInfo.from_json(corpus.manifest["source"]),
        sentence=Sentence(f"{corpus.sentences:,} sentences"),
        tokenizer="model",
        tokens=(),
        modules=tuple(
            ModuleActivation(path, classes.get(path, ""), None, (), tuple(found), None)
            for path, found in calls.items()
        ),
        token_norms=(),
        seconds_forward=0.0,
        seconds_total=0.0,
    )


def check_model(corpus: Corpus, architecture: Architecture) -> None:
    """Return if a corpus is of a model of this configuration.

    Raises:
        UserError: it is of another one.
    """
    if corpus.manifest["model"].get("configuration") != configuration_digest(architecture.config):
        name = corpus.manifest["source"].get("name")
        raise UserError(f"the corpus was made with another model: {name}")


def configuration_digest(config: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a configuration, whatever the order of its keys."""
    return hashlib.sha256(json.dumps(config, sort_keys=True, default=str).encode()).hexdigest()
