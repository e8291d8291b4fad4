"""Opens models: a source becomes a ``LoadedModel``, whose weights are read when first needed."""

import json
from dataclasses import replace
from typing import Any

from torch import nn

from bertviewer.core import deriving
from bertviewer.core.architecture import Architecture, SourceInfo
from bertviewer.core.backend import torch
from bertviewer.core.building import SEED, auto_class, build_config, build_on_meta, build_random
from bertviewer.core.checkpoint import missing_tensors
from bertviewer.core.configuration import read_configuration
from bertviewer.core.demo import check_demo_weights
from bertviewer.core.errors import UserError
from bertviewer.core.inspection import inspect_module
from bertviewer.core.memory import check_memory
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.run.tokenization import Tokenizer, find_tokenizer
from bertviewer.core.source import ModelSource


class LoadedModel:
    """A model in memory: the one mutable thing of the core. Only one thread may touch it."""

    def __init__(self, source: ModelSource, config: Any, architecture: Architecture) -> None:
        self.source = source
        self.config = config
        self.architecture = architecture
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
            UserError: there are no weights and random ones were not asked for, or the file is bad.
        """
        if self._module is None:
            progress(0, 0, "Loading weights")
            if self.source.has_weights or random_weights:
                check_memory(self.architecture.root.parameters, self.source.name)
            if self.source.has_weights:
                self._module = _load_pretrained(self.source, self.config)
            elif random_weights:
                self._module = build_random(self.config, self.source.task, self.source.name)
                self._set_weights_random()
            else:
                raise UserError(
                    f"{self.source.name} has no weights; ask for random ones (--random-weights) "
                    "to run it all the same"
                )
        if device is not None and device != self._device:
            progress(0, 0, "Moving the weights")
            self._module.to(device)
            self._device = device
        return self._module

    def tokenizer(self) -> Tokenizer:
        """Return the model's tokenizer, or a stand-in for a configuration without vocabulary.

        Raises:
            UserError: the folder has weights and no tokenizer.
        """
        if self._tokenizer is None:
            self._tokenizer = find_tokenizer(self.source, self.architecture.config)
        return self._tokenizer

    def _set_weights_random(self) -> None:
        source = replace(self.architecture.source, weights="random")
        self.architecture = replace(self.architecture, source=source)


def open_model(source: ModelSource, progress: Progress = no_progress) -> LoadedModel:
    """Read the configuration, build the model on meta and inspect it.

    Raises:
        UserError: the configuration is bad, or the family has no head for the task.
    """
    progress(0, 3, "Reading the configuration")
    path = source.path if source.path.is_file() else source.path / "config.json"
    if source.kind == "demo":
        check_demo_weights(source.path)
    data = read_configuration(path)
    config = build_config(data, source.name)
    progress(1, 3, "Building the architecture")
    module = build_on_meta(config, source.task, source.name)
    progress(2, 3, "Reading modules and tensors")
    missing = missing_tensors(source, module)
    info = SourceInfo(
        kind=source.kind,
        name=source.name,
        task=source.task.name,
        weights="pretrained" if source.has_weights else "none",
        random_tensors=missing,
    )
    # Through JSON and back, so that what is shown is equal to what an export reads again.
    plain = json.loads(json.dumps(config.to_dict(), default=str))
    plain.pop("_name_or_path", None)
    return LoadedModel(source, config, inspect_module(module, info, plain))


def _load_pretrained(source: ModelSource, config: Any) -> nn.Module:
    auto = auto_class(config, source.task, source.name)
    with torch.random.fork_rng(devices=[]):
        # Tensors that the checkpoint lacks are drawn at random, and the same in every run.
        torch.manual_seed(SEED)
        try:
            module: nn.Module = auto.from_pretrained(
                source.path,
                config=config,
                # The dtype that the architecture shows, and not one that the file may have.
                dtype=config.dtype or torch.float32,
                local_files_only=True,
                use_safetensors=True,
                trust_remote_code=False,
            )
        except Exception as error:
            raise UserError(f"{source.path}: the weights cannot be loaded: {error}") from error
    return module.eval()
