"""An open checkpoint of which only the structure is known: it can be looked at, and not run."""

from dataclasses import replace
from typing import NoReturn

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.architecture.flows import Flows
from bertviewer.core.errors import UserError
from bertviewer.core.loading.loaded_model import LoadedModel
from bertviewer.core.loading.structure import why_not_run
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.source.model_source import ModelSource
from bertviewer.core.weights.stored import Checkpoint, StoredTensor


class StructureModel(LoadedModel):
    """A model without a configuration: tensors and their values, but no module to call."""

    def __init__(
        self, source: ModelSource, checkpoint: Checkpoint, architecture: Architecture
    ) -> None:
        super().__init__(source, None, architecture, checkpoint)

    def with_counts(self, progress: Progress = no_progress) -> Architecture:
        """Return the architecture as it is: there is nothing to derive a formula from."""
        return self.architecture

    def with_costs(self, progress: Progress = no_progress) -> Architecture:
        """Return the architecture as it is."""
        return self.architecture

    def with_flows(self, progress: Progress = no_progress) -> Architecture:
        """Return the architecture with a word on why nothing flows in it."""
        flows = Flows({}, missing={"": why_not_run(self.source.name)})
        self.architecture = replace(self.architecture, flows=flows)
        return self.architecture

    def module(
        self, random_weights: bool, progress: Progress = no_progress, device: str | None = None
    ) -> NoReturn:
        """Raise ``UserError``: it is not known what to calculate."""
        raise UserError(why_not_run(self.source.name))

    def tokenizer(self, progress: Progress = no_progress) -> NoReturn:
        """Raise ``UserError``: a sentence's tokens would be of no use."""
        raise UserError(why_not_run(self.source.name))

    def stored(self, name: str) -> StoredTensor | None:
        """Return where a tensor is stored: each is, under its own name."""
        assert self.checkpoint is not None
        return self.checkpoint.tensors.get(name)
