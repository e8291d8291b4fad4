"""Opens models: a source becomes a ``LoadedModel``, whose weights are read when first needed."""

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from torch import nn

from bertviewer.core import deriving
from bertviewer.core.architecture import Architecture
from bertviewer.core.building import build_config, build_on_meta, build_random
from bertviewer.core.configuration import read_configuration
from bertviewer.core.demo import check_demo_weights
from bertviewer.core.errors import UserError
from bertviewer.core.inspection import inspect_module
from bertviewer.core.memory import check_memory
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.run.failures import words_of
from bertviewer.core.run.tokenization import Tokenizer, find_tokenizer
from bertviewer.core.source import ModelSource
from bertviewer.core.source_info import SourceInfo
from bertviewer.core.weights.finding import check_inside, find_checkpoint
from bertviewer.core.weights.keys import KeyReport
from bertviewer.core.weights.matching import match
from bertviewer.core.weights.pickle_consent import consented_checkpoint
from bertviewer.core.weights.pretrained import converted_bytes, load_pretrained
from bertviewer.core.weights.stored import Checkpoint, StoredTensor

if TYPE_CHECKING:
    from bertviewer.core.hub.opening import HubModel


class LoadedModel:
    """A model in memory: the one mutable thing of the core. Only one thread may touch it.

    ``checkpoint`` is where its weights are stored and ``keys`` how they fit; both are ``None``
    for a model without weights. ``remote`` is where a model of the hub gets its weights from.
    """

    def __init__(
        self,
        source: ModelSource,
        config: Any,
        architecture: Architecture,
        checkpoint: Checkpoint | None = None,
        keys: KeyReport | None = None,
        *,
        remote: "HubModel | None" = None,
    ) -> None:
        self.source = source
        self.config = config
        self.architecture = architecture
        self.checkpoint = checkpoint
        self.keys = keys
        self.remote = remote
        self._module: nn.Module | None = None
        self._tokenizer: Tokenizer | None = None
        self._device = "cpu"

    def with_formulas(self, progress: Progress = no_progress) -> Architecture:
        """Derive the formulas of counts and costs, and return the architecture with them."""
        self.with_counts(progress)
        return self.architecture if self.architecture.compute else self.with_costs(progress)

    def with_counts(self, progress: Progress = no_progress) -> Architecture:
        """Derive the counts' formulas; if they were cached, those of the costs come along."""
        self.architecture = deriving.with_counts(self.architecture, self.source, progress)
        return self.architecture

    def with_costs(self, progress: Progress = no_progress) -> Architecture:
        """Derive the formulas of the costs; those of the counts must be there."""
        self.architecture = deriving.with_costs(self.architecture, self.source, progress)
        return self.architecture

    def module(
        self, random_weights: bool, progress: Progress = no_progress, device: str | None = None
    ) -> nn.Module:
        """Return the real module in eval mode; its weights are loaded or drawn on the first call.

        It is moved to ``device``, as torch names it, or stays where it is.

        Raises:
            UserError: there are no weights and random ones were not asked for, the file is bad, or
                the device does not take them.
        """
        if self._module is None:
            progress(0, 0, "Loading weights")
            self._module = _without_caches(self._weighted(random_weights, progress))
        if device is not None and device != self._device:
            progress(0, 0, "Moving the weights")
            self._move(self._module, device)
        return self._module

    def tokenizer(self) -> Tokenizer:
        """Return the model's tokenizer, or a stand-in for a configuration without vocabulary.

        Raises:
            UserError: the folder has weights and no tokenizer.
        """
        if self._tokenizer is None:
            self._tokenizer = find_tokenizer(self.source, self.architecture.config)
        return self._tokenizer

    def stored(self, name: str) -> StoredTensor | None:
        """Return where the model's tensor of that name is stored, ``None`` if it is not as such.

        A tied tensor is found by each of its names.
        """
        if self.checkpoint is None or self.keys is None:
            return None
        tied = self.keys.tied
        first = tied.get(name, name)
        others = (other for other in tied if tied[other] == first)
        for candidate in (name, first, *others):
            if (key := self.keys.stored.get(candidate)) is not None:
                return self.checkpoint.tensors[key]
        return None

    def _move(self, module: nn.Module, device: str) -> None:
        try:
            module.to(device)
        except (RuntimeError, AssertionError, TypeError) as error:  # MPS has no float64
            module.to(self._device)  # what had been moved by then
            raise UserError(
                f"{self.source.name}: its weights cannot be moved to {device}: {words_of(error)}"
            ) from error
        self._device = device

    def _weighted(self, random_weights: bool, progress: Progress) -> nn.Module:
        task, name = self.source.task, self.source.name
        if self.checkpoint is not None and self.keys is not None:
            if self.remote is not None:
                self.remote.fetch(progress)
            beside = converted_bytes(self.checkpoint, self.keys)
            check_memory(self.architecture.root.parameters, name, beside)
            like = build_on_meta(self.config, task, name)
            module, random = load_pretrained(
                like, self.config, self.checkpoint, self.keys, progress
            )
            # What came of the loading is the truth, whatever the names alone had promised.
            self.keys = replace(self.keys, missing=random)
            self._set_source(random_tensors=random)
            return module
        if random_weights:
            check_memory(self.architecture.root.parameters, name)
            module = build_random(self.config, task, name)
            self._set_source(weights="random")
            return module
        if self.source.kind == "pickle":
            consented_checkpoint(self.source, allowed=False)  # says what it takes
        if self.remote is not None:
            raise UserError(self.remote.why_no_weights)
        raise UserError(
            f"{name} has no weights; ask for random ones (--random-weights) to run it all the same"
        )

    def _set_source(self, **changes: Any) -> None:
        source = replace(self.architecture.source, **changes)
        self.architecture = replace(self.architecture, source=source)


def open_model(source: ModelSource, progress: Progress = no_progress) -> LoadedModel:
    """Read the configuration, build the model on meta and inspect it; no weights are read.

    Of a checkpoint only the headers are read, and every file is checked.

    Raises:
        UserError: the configuration or a file is bad, the two do not belong together, or the
            family has no head for the task.
    """
    remote = None
    if source.kind == "hub":
        from bertviewer.core.hub.opening import open_hub

        remote = open_hub(source, progress)
        source = remote.source
    progress(0, 3, "Reading the configuration")
    if source.kind == "demo":
        check_demo_weights(source.path)
    file = source.config_file
    if file is not None and source.kind not in ("preset", "demo"):
        check_inside(file)
    data = None if file is None else read_configuration(file)
    checkpoint = remote.checkpoint if remote else _find_checkpoint(source, progress)
    info = SourceInfo(
        kind=source.kind,
        name=source.name,
        task=source.task.name,
        weights="none" if checkpoint is None else "pretrained",
    )
    if data is None:
        assert checkpoint is not None  # weights stand alone, or their consent was refused
        # What they give without a configuration is a loaded model, which this module defines.
        from bertviewer.core.weights.rebuilding import rebuilt
        from bertviewer.core.weights.structure import structure
        from bertviewer.core.weights.structure_model import StructureModel

        if (data := rebuilt(checkpoint, source.name)) is None:
            return StructureModel(source, checkpoint, structure(checkpoint, info))
    config = build_config(data, source.name)
    progress(1, 3, "Building the architecture")
    module = build_on_meta(config, source.task, source.name)
    progress(2, 3, "Reading modules and tensors")
    keys = None if checkpoint is None else match(module, checkpoint)
    if keys is not None:
        info = replace(info, random_tensors=keys.missing)
    # Through JSON and back, so that what is shown is equal to what an export reads again.
    plain = json.loads(json.dumps(config.to_dict(), default=str))
    plain.pop("_name_or_path", None)
    architecture = inspect_module(module, info, plain)
    return LoadedModel(source, config, architecture, checkpoint, keys, remote=remote)


def _without_caches(module: nn.Module) -> nn.Module:
    """Let no part of a model keep what it saw: nothing is generated, and a layer is called again.

    Not each of them can be told so when it is called.
    """
    for part in module.modules():
        config: Any = getattr(part, "config", None)
        if getattr(config, "use_cache", None) is True:
            config.use_cache = False
    return module


def _find_checkpoint(source: ModelSource, progress: Progress) -> Checkpoint | None:
    if source.kind in ("preset", "config"):
        return None
    if source.kind != "pickle":
        return find_checkpoint(source.path)
    if not source.pickle_allowed and source.config_file is not None:
        return None  # the architecture is shown, and its weights when somebody agrees
    return find_checkpoint(consented_checkpoint(source, source.pickle_allowed, progress))
