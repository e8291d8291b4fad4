"""An open model: its structure, and formulas and weights that are added on demand."""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from bertviewer.core.checkpoints.quantization import Quantization
from bertviewer.core.checkpoints.stored import Checkpoint, StoredTensor
from bertviewer.core.loading.cached_models import ModelSpec, store_report, store_spec
from bertviewer.core.loading.notices import why_not_run, why_quantized, with_notices
from bertviewer.core.schema.architecture import Architecture
from bertviewer.core.sources.model_folder import unread_weights_advice
from bertviewer.core.sources.presets import check_demo_weights
from bertviewer.core.tokenization.files import has_tokenizer, shares_vocabulary
from bertviewer.core.util import libraries
from bertviewer.core.util.budget import Budget
from bertviewer.core.util.errors import UserError
from bertviewer.core.util.log import write_log
from bertviewer.core.util.progress import Progress, no_progress

if TYPE_CHECKING:
    from torch import nn

    from bertviewer.core.hub.opening import HubModel
    from bertviewer.core.loading.deriving import Step
    from bertviewer.core.loading.layer_by_layer import OffloadState
    from bertviewer.core.sources.length_limits import LengthLimits
    from bertviewer.core.tokenization.tokenizer import Tokenizer

_KV_CACHE_SECONDS = 15.0
"""Time limit for the memory of the key/value cache where nothing else is derived; a third of it is
spent."""


class LoadedModel:
    """An open model, the only mutable object of the core. Only one thread may use it.

    Attributes:
        source: what was opened, with the parameters that the checkpoint leaves untied.
        architecture: replaced when formulas or weights are added.
        tasks: the names of the tasks that its family has a class for.
        notices: on keys of the configuration that the model does not use.
        load_report: how the checkpoint fits it, ``None`` without one.
        config: transformers' configuration object; ``None`` until a cached model is built.
        data: the configuration as JSON; ``None`` if the structure is known from tensor names
            alone: then nothing can be derived or run.
        checkpoint: where its weights are stored, ``None`` for a model without.
        remote: where a model of the Hub downloads its weights from.
        was_corrected: whether the cached structure differed from the built one.
        offload_state: of a model that runs layer by layer; ``None`` while all is in memory.
    """

    def __init__(
        self,
        spec: ModelSpec,
        data: Mapping[str, Any] | None = None,
        checkpoint: Checkpoint | None = None,
        quantization: Quantization | None = None,
        *,
        remote: "HubModel | None" = None,
    ) -> None:
        self.data = data
        self.checkpoint = checkpoint
        self.remote = remote
        self.was_corrected = False
        self.offload_state: OffloadState | None = None
        self._module: nn.Module | None = None
        self._tokenizer: Tokenizer | None = None
        self._device = "cpu"
        self._budget = Budget()
        self._set_spec(spec, quantization)

    def _set_spec(self, spec: ModelSpec, quantization: Quantization | None) -> None:
        self.source, self.tasks, self.notices = spec.source, spec.tasks, spec.notices
        self.load_report, self.config = spec.load_report, spec.config
        self._header_report = spec.load_report  # before any weights were loaded
        self._is_cached = spec.config is None
        self.architecture = with_notices(
            spec.architecture, quantization, spec.notices, spec.load_report, self.checkpoint
        )

    @property
    def _is_known(self) -> bool:
        """Whether transformers can build the model."""
        return self.config is not None or self.data is not None

    def ensure_built(self, progress: Progress = no_progress) -> None:
        """Build a cached model, and correct what the cache had if the two differ.

        Raises:
            UserError: it cannot be built, or the demo's weights are not the published ones.
            Cancelled: by ``progress``.
        """
        if self.data is None or self.config is not None:
            return
        libraries.load(progress)
        from bertviewer.core.loading.meta_model import read_meta_model

        cached = ModelSpec(self.source, self.architecture, self.tasks)
        built = read_meta_model(self.source, self.data, self.checkpoint, cached, progress)
        self.config = built.config
        is_same = cached.matches(built) and built.source == self.source
        if not is_same or (built.load_report, built.notices) != (self.load_report, self.notices):
            write_log(f"{self.source.name}: not what the cache says")
            self._correct(built)

    def _correct(self, built: ModelSpec) -> None:
        self.was_corrected = True
        self._set_spec(built, self.architecture.source.quantization)
        self.store()

    def store(self) -> None:
        """Write structure, formulas and load report to the cache, unless that has been done."""
        if self.data is None or self._is_cached:
            return
        self._is_cached = True
        spec = ModelSpec(self.source, self.architecture, self.tasks, self.notices)
        store_spec(spec, self.data)
        if self.checkpoint is not None and self._header_report is not None:
            store_report(self.source, self.data, self.checkpoint, self._header_report)

    def with_formulas(self, progress: Progress = no_progress) -> Architecture:
        """Return the architecture with all formulas and flows, derived if need be."""
        if self.architecture.costs is None:
            self.with_counts(progress)
            self.with_costs(progress)
        return self.with_flows(progress)

    def with_counts(self, progress: Progress = no_progress) -> Architecture:
        """Derive the formulas of the counts."""
        return self._derive(progress, "counts")

    def with_costs(self, progress: Progress = no_progress) -> Architecture:
        """Derive the formulas of the costs, after those of the counts, and cache them.

        Flows are traced again: their shapes get symbols now.
        """
        return self._derive(progress, "costs", "flows")

    def with_flows(self, progress: Progress = no_progress) -> Architecture:
        """Trace the data flow of each module and cache it, unless that has been done."""
        is_missing = self.architecture.flows is None
        return self._derive(progress, "flows") if is_missing else self.architecture

    def _derive(self, progress: Progress, *steps: "Step") -> Architecture:
        if not self._is_known:
            return self.architecture
        self.ensure_built(progress)
        from bertviewer.core.loading.deriving import STEPS

        self._budget.measure_memory()
        found = self.architecture
        for step in steps:
            found = STEPS[step](found, self.source, progress, self._budget)
        self.architecture = found  # not before: a cancelled step is repeated with those before it
        # Not cached if a limit left something out, so that it is tried again, or with counts alone.
        if "flows" in steps and not self._budget.was_exceeded:
            self._is_cached = False
            self.store()
        return self.architecture

    def with_kv_cache(self, progress: Progress = no_progress) -> Architecture:
        """Derive the memory of a newly built model's key/value cache, in numbers.

        A cached model has it, and needs no torch for it.
        """
        before = self.architecture
        if self.config is None or before.costs is not None or before.kv_cache:
            return before
        from bertviewer.core.loading import deriving

        with suppress(*deriving.LIMITS):
            self.architecture = deriving.with_kv_cache(
                before, self.source, progress, Budget(_KV_CACHE_SECONDS)
            )
        if self.architecture is not before:
            self._is_cached = False
            self.store()
        return self.architecture

    def check_weights(self, random_weights: bool) -> None:
        """Check that the model has weights to run with, or that random ones were requested.

        Raises:
            UserError: it has none, they are quantized, or the model is unknown.
        """
        quantization = self.architecture.source.quantization
        if quantization is not None and self.checkpoint is not None:
            raise UserError(why_quantized(self.source.name, quantization))
        self._check_is_known()
        if random_weights or (self.checkpoint is not None and self.load_report is not None):
            return
        if self.source.kind == "pickle":
            from bertviewer.core.pickles.consent import consented_checkpoint

            consented_checkpoint(self.source, allowed=False)  # raises, and says what is needed
        if self.remote is not None:
            raise UserError(self.remote.why_no_weights)
        if self.source.kind == "folder" and (unread := unread_weights_advice(self.source.path)):
            raise UserError(f"{self.source.name} has no weights here: {unread}")
        raise UserError(
            f"{self.source.name} has no weights; use --random-weights to run it with random ones"
        )

    def _check_is_known(self) -> None:
        if not self._is_known:
            raise UserError(why_not_run(self.source.name))

    def module(
        self, random_weights: bool, progress: Progress = no_progress, device: str | None = None
    ) -> "nn.Module":
        """Return the torch module in eval mode; the first call loads or initializes its weights.

        ``device`` is a torch device to move it to. ``architecture.source`` then says where the
        weights are from.

        Raises:
            UserError: the model is unknown or has no weights, a file is bad, or the device does not
                accept the weights.
            Cancelled: by ``progress``.
        """
        self._check_is_known()
        if self._module is None:
            self.ensure_built(progress)
            self.check_weights(random_weights)
            progress(0, 0, "Loading weights")
            self._module = self._load_module(progress)
        if self.offload_state is not None:
            self.offload_state.progress = progress
        if device is not None and device != self._device:
            progress(0, 0, "Moving the weights")
            from bertviewer.core.loading.weight_loading import move

            move(self._module, self.source.name, device, self._device)
            self._device = device
        return self._module

    @property
    def running_module(self) -> "nn.Module":
        """The module with the weights of the last run, or random ones."""
        return self.module(random_weights=True) if self._module is None else self._module

    def _load_module(self, progress: Progress) -> "nn.Module":
        from bertviewer.core.loading import weight_loading

        if self.checkpoint is None or self.load_report is None:
            module = weight_loading.random_module(self.source, self.config)
            self._set_source(weights="random")
            return module
        if self.remote is not None:
            self.remote.fetch(progress)
            self._tie_by_values(progress)
        loaded = weight_loading.pretrained_module(
            self.source, self.config, self.architecture, self.checkpoint, self.load_report, progress
        )
        # transformers may initialize more tensors than the names promised.
        self.load_report = replace(self.load_report, missing=loaded.random)
        self.offload_state = loaded.offload_state
        self._set_source(random_tensors=loaded.random, offloaded=loaded.offload_state is not None)
        return loaded.module

    def _tie_by_values(self, progress: Progress) -> None:
        """Find out which tensors are tied, now that their values are downloaded."""
        if self.data is None or not self.source.untied:
            return
        from bertviewer.core.loading.meta_model import read_meta_model

        tied = replace(self.source, untied=())
        built = read_meta_model(tied, self.data, self.checkpoint, None, progress)
        if built.source != self.source:
            self._correct(built)

    def _set_source(self, **changes: Any) -> None:
        info = replace(self.architecture.source, **changes)
        self.architecture = replace(self.architecture, source=info)

    def tokenizer(self, progress: Progress = no_progress) -> "Tokenizer":
        """Return the model's tokenizer, or a placeholder for a configuration without vocabulary.

        Raises:
            UserError: the folder has weights and no tokenizer, or the model does not read text.
            Cancelled: by ``progress``.
        """
        self._check_is_known()
        if self._tokenizer is None:
            from bertviewer.core.tokenization.tokenization import find_tokenizer

            # Unused keys may be about tokens, but not an unused number of segments.
            config = self.architecture.whole_config
            if "type_vocab_size" in self.architecture.unused:
                del config["type_vocab_size"]
            self._tokenizer = find_tokenizer(self.source, config, progress, self.length_limits)
        return self._tokenizer

    def prepare_tokenizer(self) -> None:
        """Start the tokenizer's process, if the model needs it, without waiting for it."""
        if has_tokenizer(self.source) or shares_vocabulary(self.source):
            from bertviewer.core.tokenization.model_tokenizer import tokenizer_helper

            tokenizer_helper().prepare()

    def length_limits(self) -> "LengthLimits":
        """Return how many tokens the model accepts, measured by the first call."""
        from bertviewer.core.graph.length_measuring import length_limits

        return length_limits(self.architecture.whole_config)

    def stored(self, name: str) -> StoredTensor | None:
        """Return where a tensor of the model is stored, ``None`` if it is not stored unchanged.

        Quantized weights are not: their codes are not the model's values. A tied tensor is found
        by any of its names.

        Raises:
            UserError: the demo's weights are not the published ones.
        """
        if self.checkpoint is None or name in self.architecture.source.quantized_tensors:
            return None
        if not self._is_known:
            return self.checkpoint.tensors.get(name)
        if self.load_report is None:
            return None
        if self.source.kind == "demo":
            check_demo_weights(self.source.path)
        tied = self.load_report.tied
        first = tied.get(name, name)
        others = (other for other in tied if tied[other] == first)
        for candidate in (name, first, *others):
            if (key := self.load_report.stored.get(candidate)) is not None:
                return self.checkpoint.tensors[key]
        return None
