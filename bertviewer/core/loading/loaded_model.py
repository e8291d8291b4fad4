"""An open model: what is known of it at once, and its weights when they are first needed."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from bertviewer.core.checkpoints.keys import KeyReport
from bertviewer.core.checkpoints.quantization import Quantization
from bertviewer.core.checkpoints.stored import Checkpoint, StoredTensor
from bertviewer.core.loading.cached_models import SeenModel, keep_keys, keep_model
from bertviewer.core.loading.file_facts import why_quantized, with_facts
from bertviewer.core.loading.structure import why_not_run
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.schema.flow import Flows
from bertviewer.core.sources.demo import check_demo_weights
from bertviewer.core.sources.layouts import unread_weights
from bertviewer.core.sources.model_source import ModelSource
from bertviewer.core.tokenization.files import has_tokenizer, shares_vocabulary
from bertviewer.core.util import libraries
from bertviewer.core.util.budget import Budget
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.log import write_log
from bertviewer.core.util.progress import Progress, no_progress

if TYPE_CHECKING:
    from torch import nn

    from bertviewer.core.hub.opening import HubModel
    from bertviewer.core.loading.layer_by_layer import Reading
    from bertviewer.core.loading.meta_model import MetaModel
    from bertviewer.core.sources.length_limits import LengthLimits
    from bertviewer.core.tokenization.tokenizer import Tokenizer

_CACHE_SECONDS = 15.0
"""Time for the memory of the cache where nothing else is derived; about a third of it is spent."""


class Blueprint(Struct, frozen=True):
    """What a model is built from.

    Attributes:
        config: transformers' configuration, ``None`` until a model that was seen before is
            confirmed.
        heads: the names of the tasks that its family has a model for.
        data: what the configuration is made of; ``None`` of a model that is not kept on disk.
        quantization: of its weights, ``None`` if they are plain numbers.
        notices: on keys of the configuration that the model does not use.
    """

    config: Any
    heads: tuple[str, ...] = ()
    data: Mapping[str, Any] | None = None
    quantization: Quantization | None = None
    notices: tuple[str, ...] = ()


class LoadedModel:
    """A model in memory: the one mutable thing of the core. Only one thread may touch it.

    Attributes:
        source: what was asked for.
        architecture: what it is made of; formulas and flows are added when they are derived.
        blueprint: what it is built from; ``None`` where the tensors' names are all that is known:
            then it can be looked at, and neither derived from nor run.
        checkpoint: where its weights are stored, ``None`` for a model without.
        keys: how they fit it.
        remote: where a model of the hub gets its weights from.
        was_corrected: whether something else had been remembered of it.
        reading: how weights are read layer by layer; ``None`` while all are in memory.
    """

    def __init__(
        self,
        source: ModelSource,
        architecture: Architecture,
        blueprint: Blueprint | None,
        checkpoint: Checkpoint | None = None,
        keys: KeyReport | None = None,
        *,
        remote: "HubModel | None" = None,
    ) -> None:
        self.source = source
        self.architecture = architecture
        self.blueprint = blueprint
        self.checkpoint = checkpoint
        self.keys = keys
        self.remote = remote
        self.was_corrected = False
        self.reading: Reading | None = None
        self._keys_found = keys  # by names alone, before any weights were loaded
        self._is_kept = blueprint is not None and blueprint.config is None  # it was seen before
        self._module: nn.Module | None = None
        self._tokenizer: Tokenizer | None = None
        self._device = "cpu"
        self._budget = Budget()

    @property
    def config(self) -> Any:
        """Transformers' configuration, ``None`` as long as there is none."""
        return None if self.blueprint is None else self.blueprint.config

    @property
    def heads(self) -> tuple[str, ...]:
        """The names of the tasks that its family has a model for."""
        return () if self.blueprint is None else self.blueprint.heads

    def confirm(self, progress: Progress = no_progress) -> None:
        """Build a model that was seen before, and put what it is in place of what was remembered.

        The two should be equal; if not, ``architecture`` is another one afterwards. Of any other
        model this is known already.

        Raises:
            UserError: it cannot be built, or the demo's weights are not the published ones.
        """
        if self.blueprint is None or self.config is not None or self.blueprint.data is None:
            return
        libraries.load(progress)
        from bertviewer.core.loading.meta_model import read_meta_model

        seen, data = SeenModel(self.architecture, self.heads), self.blueprint.data
        found = read_meta_model(self.source, data, self.checkpoint, seen, progress)
        self.blueprint = replace(self.blueprint, config=found.config)
        notices = self.blueprint.notices
        if not found.was_seen or (found.keys, found.notices) != (self.keys, notices):
            write_log(f"{self.source.name}: not what the cache says")
            self._correct(found)

    def _correct(self, found: "MetaModel") -> None:
        """Put what a model turned out to be in place of what was known of it."""
        assert self.blueprint is not None
        self.was_corrected, self._is_kept = True, False
        self.source = found.source
        self.architecture = with_facts(
            found.architecture,
            self.blueprint.quantization,
            found.notices,
            found.keys,
            self.checkpoint,
        )
        self.blueprint = replace(
            self.blueprint, config=found.config, heads=found.heads, notices=found.notices
        )
        self.keys = self._keys_found = found.keys
        self.keep()

    def with_formulas(self, progress: Progress = no_progress) -> Architecture:
        """Return the architecture with all formulas and flows, derived if need be."""
        if self.architecture.costs is None:
            self.with_counts(progress)
            self.with_costs(progress)
        return self.with_flows(progress)

    def with_flows(self, progress: Progress = no_progress) -> Architecture:
        """Find the flow of each module and keep it, if that is not known yet."""
        if self.blueprint is None:
            flows = Flows({}, missing={"": why_not_run(self.source.name)})
            self.architecture = replace(self.architecture, flows=flows)
        elif self.architecture.flows is None:
            self.confirm(progress)
            from bertviewer.core.loading import deriving

            self.architecture = deriving.with_flows(
                self.architecture, self.source, progress, self._limits()
            )
            self._keep_derived()
        return self.architecture

    def with_counts(self, progress: Progress = no_progress) -> Architecture:
        """Derive the counts' formulas; without a blueprint there is nothing to derive them from."""
        if self.blueprint is None:
            return self.architecture
        self.confirm(progress)
        from bertviewer.core.loading import deriving

        self.architecture = deriving.with_counts(
            self.architecture, self.source, progress, self._limits()
        )
        return self.architecture

    def with_costs(self, progress: Progress = no_progress) -> Architecture:
        """Derive the formulas of the costs, and keep them; those of the counts must be there.

        The flows are found anew: their shapes get letters now.
        """
        if self.blueprint is None:
            return self.architecture
        self.confirm(progress)
        from bertviewer.core.loading import deriving

        limits = self._limits()
        costed = deriving.with_costs(self.architecture, self.source, progress, limits)
        self.architecture = deriving.with_flows(costed, self.source, progress, limits)
        self._keep_derived()
        return self.architecture

    def with_kv_cache(self, progress: Progress = no_progress) -> Architecture:
        """Find the memory of a newly built model's cache, in numbers, if nothing is derived yet.

        A model that was seen before has it already, so that torch need not be imported.
        """
        architecture = self.architecture
        if self.config is None or architecture.costs is not None or architecture.kv_cache:
            return architecture
        from bertviewer.core.loading import deriving

        with suppress(*deriving.LIMITS):
            self.architecture = deriving.with_kv_cache(
                architecture, self.source, progress, Budget(_CACHE_SECONDS)
            )
        if self.architecture is not architecture:
            self._is_kept = False
            self.keep()
        return self.architecture

    def _limits(self) -> Budget:
        self._budget.measure_memory()
        return self._budget

    def _keep_derived(self) -> None:
        """Keep what was derived, unless a limit was reached: next time may give more."""
        if not self._budget.was_exceeded:
            self._is_kept = False
            self.keep()

    def check_weights(self, random_weights: bool) -> None:
        """Check that there are weights to run it with, or that random ones were asked for.

        Raises:
            UserError: neither is so, the weights are quantized, or the model is unknown.
        """
        quantization = self.architecture.source.quantization
        if quantization is not None and self.checkpoint is not None:
            raise UserError(why_quantized(self.source.name, quantization))
        self._check_is_known()
        if random_weights or (self.checkpoint is not None and self.keys is not None):
            return
        if self.source.kind == "pickle":
            from bertviewer.core.pickles.consent import consented_checkpoint

            consented_checkpoint(self.source, allowed=False)  # says what it takes
        if self.remote is not None:
            raise UserError(self.remote.why_no_weights)
        if self.source.kind == "folder" and (unread := unread_weights(self.source.path)):
            raise UserError(f"{self.source.name} has no weights here: {unread}")
        raise UserError(
            f"{self.source.name} has no weights; use --random-weights to run it with random ones"
        )

    def module(
        self, random_weights: bool, progress: Progress = no_progress, device: str | None = None
    ) -> "nn.Module":
        """Return the real module in eval mode; its weights are loaded or drawn on the first call.

        It is moved to ``device``, as torch names it, or stays where it is. ``architecture`` is
        another one afterwards, which says where the weights are from.

        Raises:
            UserError: it is not known what to calculate, there are no weights and random ones were
                not asked for, the file is bad, or the device does not take them.
        """
        self._check_is_known()
        if self._module is None:
            self.confirm(progress)
            self.check_weights(random_weights)
            progress(0, 0, "Loading weights")
            self._module = self._weighted(progress)
        if self.reading is not None:
            self.reading.progress = progress
        if device is not None and device != self._device:
            progress(0, 0, "Moving the weights")
            from bertviewer.core.loading.weight_loading import move

            move(self._module, self.source.name, device, self._device)
            self._device = device
        return self._module

    @property
    def running_module(self) -> "nn.Module":
        """The module that sentences are run through, with the weights of the run, random or not."""
        return self.module(random_weights=True) if self._module is None else self._module

    def tokenizer(self, progress: Progress = no_progress) -> "Tokenizer":
        """Return the model's tokenizer, or a stand-in for a configuration without vocabulary.

        Raises:
            UserError: the folder has weights and no tokenizer, or a sentence's tokens would be of
                no use.
            Cancelled: by ``progress``.
        """
        self._check_is_known()
        if self._tokenizer is None:
            from bertviewer.core.tokenization.tokenization import find_tokenizer

            # With keys that are only about tokens, but not a table of segments that is never built.
            config = self.architecture.whole_config
            if "type_vocab_size" in self.architecture.unused:
                del config["type_vocab_size"]
            self._tokenizer = find_tokenizer(self.source, config, progress, self.length_limits)
        return self._tokenizer

    def length_limits(self) -> "LengthLimits":
        """Return how many tokens it takes; they are measured at the first call."""
        from bertviewer.core.graph.length_measuring import length_limits

        return length_limits(self.architecture.whole_config)

    def prepare_tokenizer(self) -> None:
        """Start the process that reads its tokenizer, if it has one, without waiting for it."""
        if has_tokenizer(self.source) or shares_vocabulary(self.source):
            from bertviewer.core.tokenization.model_tokenizer import tokenizer_helper

            tokenizer_helper().prepare()

    def stored(self, name: str) -> StoredTensor | None:
        """Return where the model's tensor of that name is stored, ``None`` if it is not as such.

        Quantized weights are not: their codes are other values than the model's. A tied tensor is
        found by each of its names.

        Raises:
            UserError: the demo's weights are not the published ones.
        """
        if self.checkpoint is None or name in self.architecture.source.quantized_tensors:
            return None
        if self.blueprint is None:
            return self.checkpoint.tensors.get(name)
        if self.keys is None:
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
        blueprint = self.blueprint
        data = None if blueprint is None else blueprint.data
        if blueprint is not None and data is not None and not self._is_kept:
            self._is_kept = True
            seen = SeenModel(self.architecture, self.heads, blueprint.notices)
            keep_model(self.source, data, seen)
            if self.checkpoint is not None and self._keys_found is not None:
                keep_keys(self.source, data, self.checkpoint, self._keys_found)

    def _check_is_known(self) -> None:
        if self.blueprint is None:
            raise UserError(why_not_run(self.source.name))

    def _weighted(self, progress: Progress) -> "nn.Module":
        from bertviewer.core.loading import weight_loading as weighting

        if self.remote is not None and self.checkpoint is not None and self.keys is not None:
            self.remote.fetch(progress)
            self._tie_as_stored(progress)
        if self.checkpoint is None or self.keys is None:
            module = weighting.random_module(self.source, self.config)
            self._set_source(weights="random")
            return module
        loaded = weighting.pretrained_module(
            self.source, self.config, self.architecture, self.checkpoint, self.keys, progress
        )
        # What came of the loading is the truth, whatever the names alone had promised.
        self.keys = replace(self.keys, missing=loaded.random)
        self.reading = loaded.reading
        self._set_source(random_tensors=loaded.random, offloaded=loaded.reading is not None)
        return loaded.module

    def _tie_as_stored(self, progress: Progress) -> None:
        """Find out which tensors are tied, now that the values that decide it are here."""
        data = None if self.blueprint is None else self.blueprint.data
        if data is None or not self.source.untied:
            return
        from bertviewer.core.loading.meta_model import read_meta_model

        tied = replace(self.source, untied=())
        found = read_meta_model(tied, data, self.checkpoint, None, progress)
        if found.source != self.source:
            self._correct(found)

    def _set_source(self, **changes: Any) -> None:
        info = replace(self.architecture.source, **changes)
        self.architecture = replace(self.architecture, source=info)
