"""All templates, in the order in which they are tried: the first that matches explains a module."""

from bertviewer.core.formulas.templates.activation import ACTIVATION
from bertviewer.core.formulas.templates.attention import ATTENTION
from bertviewer.core.formulas.templates.convolution import CONVOLUTION
from bertviewer.core.formulas.templates.embedding import EMBEDDING
from bertviewer.core.formulas.templates.embeddings import EMBEDDINGS
from bertviewer.core.formulas.templates.experts import EXPERTS
from bertviewer.core.formulas.templates.feed_forward import FEED_FORWARD
from bertviewer.core.formulas.templates.head import HEADS
from bertviewer.core.formulas.templates.layer import LAYER
from bertviewer.core.formulas.templates.linear import LINEAR
from bertviewer.core.formulas.templates.mixing import MIXING
from bertviewer.core.formulas.templates.model import MODELS
from bertviewer.core.formulas.templates.norm import NORM
from bertviewer.core.formulas.templates.patches import PATCHES
from bertviewer.core.formulas.templates.rotary import ROTARY_POSITIONS
from bertviewer.core.formulas.templates.stack import STACK
from bertviewer.core.formulas.templates.task_model import TASK_MODELS
from bertviewer.core.formulas.templates.template import Template
from bertviewer.core.formulas.templates.torch_nn import TORCH_NN

TEMPLATES: tuple[Template, ...] = (
    *TORCH_NN,
    LINEAR,
    *EMBEDDING,
    ROTARY_POSITIONS,
    *NORM,
    ACTIVATION,
    *ATTENTION,
    EMBEDDINGS,
    PATCHES,
    *STACK,
    *HEADS,
    *TASK_MODELS,
    *MODELS,
    *FEED_FORWARD,
    *LAYER,
    *EXPERTS,
    CONVOLUTION,
    *MIXING,
)
