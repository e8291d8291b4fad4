"""An open model: what is known of it at once, and its weights when they are first needed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from bertviewer.core.architecture.architecture import Architecture
from bertviewer.core.cache.models import SeenModel, keep_keys, keep_model
from bertviewer.core.errors import UserError
from bertviewer.core.progress import Progress, no_progress
from bertviewer.core.source.demo import check_demo_weights
from bertviewer.core.source.model_source import ModelSource
from bertviewer.core.system import libraries
from bertviewer.core.system.log import write_log
from bertviewer.core.system.memory import check_memory
from bertviewer.core.tokenizer.files import has_tokenizer, shares_vocabulary
from bertviewer.core.tokenizer.process import tokenizer_process
from bertviewer.core.weights.keys import KeyReport
from bertviewer.core.weights.stored import Checkpoint, StoredTensor

if TYPE_CHECKING:
    from torch import nn

    from bertviewer.core.hub.opening import HubModel
    from bertviewer.core.tokenizer.tokenization import Tokenizer


class LoadedModel:
    """A model in memory: the one mutable thing of the core. Only one thread may touch it.

    ``checkpoint`` is where its weights are stored and ``keys`` how they fit; both are ``None``
    for a model without weights. ``heads`` names the tasks that its family has a model for.
    ``remote`` is where a model of the hub gets its weights from. ``config`` is transformers'
    configuration, ``None`` until a model that was seen before is confirmed; then ``data`` is what
    it is built from, and ``was_corrected`` tells that something else had been remembered.
    """

    def __init__(
        self,
        source: ModelSource,
        config: Any,
        architecture: Architecture,
        checkpoint: Checkpoint | None = None,
        keys: KeyReport | None = None,
        *,
        heads: tuple[str, ...] = (),
        remote: "HubModel | None" = None,
        data: Mapping[str, Any] | None = None,
    ) -> None:
        self.source = source
        self.config = config
        self.architecture = architecture
        self.checkpoint = checkpoint
        self.keys = keys
        self._keys_found = keys  # by names alone, before any weights were loaded
        self.heads = heads
        self.remote = remote
        self.was_corrected = False
        self._data = data
        self._is_kept = config is None  # it was seen before
        self._module: nn.Module | None = None
        self._tokenizer: Tokenizer | None = None
        self._device = "cpu"

    def confirm(self, progress: Progress = no_progress) -> None:
        """Build a model that was seen before, and put what it is in place of what was remembered.

        The two should be equal. Of any other model this is known already.

        Raises:
            UserError: it cannot be built, or the demo's weights are not the published ones.
        """
        if self.config is not None or self._data is None:
            return
        libraries.load(progress)
        from bertviewer.core.loading.meta_model import read_meta_model

        seen = SeenModel(self.architecture, self.heads)
        found = read_meta_model(self.source, self._data, self.checkpoint, seen, progress)
        self.config = found.config
        if not found.was_seen or found.keys != self.keys:
            write_log(f"{self.source.name}: not what was remembered of it")
            self.was_corrected, self._is_kept = True, False
            self.architecture, self.heads = found.architecture, found.heads
            self.keys = self._keys_found = found.keys
            self.keep()

    def with_formulas(self, progress: Progress = no_progress) -> Architecture:
        """Return the architecture with all formulas and flows, derived if need be."""
        if self.architecture.compute is None:
            self.with_counts(progress)
            self.with_costs(progress)
        return self.with_flows(progress)

    def with_flows(self, progress: Progress = no_progress) -> Architecture:
        """Find the flow of each module and keep it, if that is not known yet."""
        if self.architecture.flows is None:
            self.confirm(progress)
            from bertviewer.core.loading import deriving

            self.architecture = deriving.with_flows(self.architecture, self.source, progress)
            self._is_kept = False
            self.keep()
        return self.architecture

    def with_counts(self, progress: Progress = no_progress) -> Architecture:
        """Derive the counts' formulas."""
        self.confirm(progress)
        from bertviewer.core.loading import deriving

        self.architecture = deriving.with_counts(self.architecture, self.source, progress)
        return self.architecture

    def with_costs(self, progress: Progress = no_progress) -> Architecture:
        """Derive the formulas of the costs, and keep them; those of the counts must be there.

        The flows are found anew: their shapes get letters now.
        """
        self.confirm(progress)
        from bertviewer.core.loading import deriving

        costed = deriving.with_costs(self.architecture, self.source, progress)
        self.architecture = deriving.with_flows(costed, self.source, progress)
        self._is_kept = False
        self.keep()
        return self.architecture

    def check_weights(self, random_weights: bool) -> None:
        """Check that there are weights to run it with, or that random ones were asked for.

        Raises:
            UserError: neither is so.
        """
        if random_weights or (self.checkpoint is not None and self.keys is not None):
            return
        if self.source.kind == "pickle":
            from bertviewer.core.pickles.consent import consented_checkpoint

            consented_checkpoint(self.source, allowed=False)  # says what it takes
        if self.remote is not None:
            raise UserError(self.remote.why_no_weights)
        raise UserError(
            f"{self.source.name} has no weights; "
            "ask for random ones (--random-weights) to run it all the same"
        )

    def module(
        self, random_weights: bool, progress: Progress = no_progress, device: str | None = None
    ) -> "nn.Module":
        """Return the real module in eval mode; its weights are loaded or drawn on the first call.

        It is moved to ``device``, as torch names it, or stays where it is.

        Raises:
            UserError: there are no weights and random ones were not asked for, the file is bad, or
                the device does not take them.
        """
        if self._module is None:
            self.confirm(progress)
            self.check_weights(random_weights)
            progress(0, 0, "Loading weights")
            self._module = without_caches(self._weighted(progress))
        if device is not None and device != self._device:
            progress(0, 0, "Moving the weights")
            self._move(self._module, device)
        return self._module

    def tokenizer(self, progress: Progress = no_progress) -> "Tokenizer":
        """Return the model's tokenizer, or a stand-in for a configuration without vocabulary.

        Raises:
            UserError: the folder has weights and no tokenizer.
            Cancelled: by ``progress``.
        """
        if self._tokenizer is None:
            from bertviewer.core.tokenizer.tokenization import find_tokenizer

            self._tokenizer = find_tokenizer(self.source, self.architecture.config, progress)
        return self._tokenizer

    def prepare_tokenizer(self) -> None:
        """Start the process that reads its tokenizer, if it has one, without waiting for it."""
        if has_tokenizer(self.source) or shares_vocabulary(self.source):
            tokenizer_process().start()

    def stored(self, name: str) -> StoredTensor | None:
        """Return where the model's tensor of that name is stored, ``None`` if it is not as such.

        A tied tensor is found by each of its names.

        Raises:
            UserError: the demo's weights are not the published ones.
        """
        if self.checkpoint is None or self.keys is None:
            return None
        if self.source.kind == "demo":
            check_demo_weights(self.source.path)
        tied = self.keys.tied
        first = tied.get(name, name)
        others = (other for other in tied if tied[other] == first)
        for candidate in (name, first, *others):
            if (key := self.keys.stored.get(candidate)) is not None:
                return self.checkpoint.tensors[key]
        return None

    def keep(self) -> None:
        """Write what is known of it, unless it is there already, to open it without torch."""
        if self._data is not None and not self._is_kept:
            self._is_kept = True
            keep_model(self.source, self._data, SeenModel(self.architecture, self.heads))
            if self.checkpoint is not None and self._keys_found is not None:
                keep_keys(self.source, self._data, self.checkpoint, self._keys_found)

    def _move(self, module: "nn.Module", device: str) -> None:
        from bertviewer.core.system.library_words import words_of

        try:
            module.to(device)
        except (RuntimeError, AssertionError, TypeError) as error:  # MPS has no float64
            module.to(self._device)  # what had been moved by then
            raise UserError(
                f"{self.source.name}: its weights cannot be moved to {device}: {words_of(error)}"
            ) from error
        self._device = device

    def _weighted(self, progress: Progress) -> "nn.Module":
        from bertviewer.core.building.building import build_on_meta, build_random
        from bertviewer.core.loading.pretrained import converted_bytes, load_pretrained

        task, name = self.source.task, self.source.name
        like = build_on_meta(self.config, task, name)
        # Masks for all positions, one a layer, may be larger than all weights.
        beside = sum(buffer.nbytes for buffer in like.buffers())
        if self.checkpoint is not None and self.keys is not None:
            if self.remote is not None:
                self.remote.fetch(progress)
            beside += converted_bytes(self.checkpoint, self.keys)
            check_memory(self.architecture.root.parameters, name, beside)
            module, random = load_pretrained(
                like, self.config, self.checkpoint, self.keys, progress
            )
            # What came of the loading is the truth, whatever the names alone had promised.
            self.keys = replace(self.keys, missing=random)
            self._set_source(random_tensors=random)
            return module
        check_memory(self.architecture.root.parameters, name, beside)
        module = build_random(self.config, task, name)
        self._set_source(weights="random")
        return module

    def _set_source(self, **changes: Any) -> None:
        source = replace(self.architecture.source, **changes)
        self.architecture = replace(self.architecture, source=source)


def without_caches(module: "nn.Module") -> "nn.Module":
    """Let no part of a model keep what it saw: nothing is generated, and a layer is called again.

    Not each of them can be told so when it is called.
    """
    for part in module.modules():
        config: Any = getattr(part, "config", None)
        if getattr(config, "use_cache", None) is True:
            config.use_cache = False
    return module
