"""Base models: embeddings, a stack of layers and what follows them."""

from bertviewer.core.analysis.causality import is_causal
from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.families.module_kind import ModuleKind
from bertviewer.core.formulas.facts import model_text, shares_its_table
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import norm_of
from bertviewer.core.formulas.notation import INTO, TOKENS, indices, sized
from bertviewer.core.formulas.notes import Note
from bertviewer.core.formulas.stacks import LAYER_TERM, STEP, stack
from bertviewer.core.text.numerals import count_text

_ENC = 'X_"enc"'


def base_model(view: ModuleView) -> Formula:
    """Embeddings, stack and, if there is one, pooler (Devlin et al. 2019, section 3)."""
    stack_name = "encoder" if "encoder" in view.children else "transformer"
    types = view.shape("embeddings.token_type_embeddings.weight") is not None
    start = f'"Embeddings"(t{", g" if types else ""})'
    project = "embeddings_project" in view.children
    if project:
        start = view.affine("embeddings_project").maths(start, INTO, sizes=False)
    lines = [f"X_0 = {start}", f'{sized("Y", "S", view.width)} = "Encoder"(X_0)']
    terms = [TOKENS, Term("t", "token ids", "[S]")]
    if types:
        terms.append(Term("g", "segment ids, 0 or 1", "[S]"))
    if project:
        terms += view.affine("embeddings_project").terms("the embedding projection", INTO)
    terms.append(Term("Y", "last hidden state, one row per position"))
    if "pooler" in view.children:
        lines.append(_pooled(view))
        terms.append(Term("y_0", "row of Y of the first token"))
        terms.append(Term("p", "pooled output: one vector for the whole sequence"))
    title, summary = model_text(view, is_usually_causal=False)
    return Formula(
        title=title,
        summary=summary,
        maths=tuple(lines),
        terms=tuple(terms),
        notes=(
            f"“{stack_name}” holds the stack of layers{_seen(view)}.",
            *_pooler_notes(view),
        ),
        config_keys=view.keys("vocabulary", "width", "layers", "heads", "feed-forward"),
        source="Devlin et al. 2019, section 3",
    )


def _seen(view: ModuleView) -> str:
    """Return what a position of the sequence sees, in words."""
    causal = is_causal(view.architecture, view.node.path)
    if causal is None:
        return ""
    if causal:
        return ". It is a decoder: each position attends only to itself and earlier positions"
    if view.config.get("attention_type") == "block_sparse":
        return "; in a long sequence, each position attends only to some blocks before and after it"
    return "; every position attends to the whole sequence, in both directions"


def gpt2_model(view: ModuleView) -> Formula:
    """GPT-2: token and position vectors, blocks, a last layer norm (Radford et al. 2019)."""
    words, places = view.tensors["wte.weight"].shape, view.tensors["wpe.weight"].shape
    count, norm = len(view.below("h").children), norm_of(view, "ln_f")
    return Formula(
        title="Decoder-only model",
        summary="Maps a sequence of token ids to one vector per token, which depends on that "
        "token and the preceding ones.",
        maths=(
            f"{sized('x_s', words[1])} = {sized(_table('wte'), *words)}[t_s] + "
            f"{sized(_table('wpe'), *places)}[s], quad X_0 = (x_0, dots, x_(S-1))",
            f'{STEP} = "Block"_l (X_l), quad l = {indices(count)}',
            f"{sized('Y', 'S', words[1])} = {norm.operator}(X_{count})",
        ),
        terms=(
            TOKENS,
            Term("t_s", "token id at position s"),
            Term(_table("wte"), "token embedding table", shape_text(words)),
            Term(_table("wpe"), "position embedding table", shape_text(places)),
            LAYER_TERM,
            Term(
                "l",
                "index of the block, counted from 0",
                count_text(count, "1 block", "{0} blocks"),
            ),
        ),
        notes=(
            f"The blocks are pre-norm, so a final {norm.name} (ln_f) is needed after the last one.",
            "If segment ids are given, their vectors are looked up in the token embedding table "
            "and added.",
        ),
        config_keys=view.keys("vocabulary", "positions", "width", "layers", "heads"),
        source="Radford et al. 2019, section 2.3",
    )


def transformer(view: ModuleView) -> Formula:
    """DistilBERT's stack, or torch's encoder-decoder: two classes of the same name."""
    return stack(view) if "layer" in view.children else torch_transformer(view)


def torch_transformer(view: ModuleView) -> Formula:
    """torch.nn.Transformer: encoder and decoder (Vaswani et al. 2017, section 3.1)."""
    width = view.integer("d_model")
    shape = f"[S, {width}]" if width else None
    return Formula(
        title="Encoder-decoder",
        summary="The encoder reads one sequence; the decoder generates another, attending to the "
        "encoder’s output.",
        maths=('X_"enc" = "Encoder"(X_"src")', 'Y = "Decoder"(X_"tgt", X_"enc")'),
        terms=(
            Term('X_"src"', "embedded source sequence", shape),
            Term('X_"tgt"', "embedded target sequence so far", shape and shape.replace("S", "S_d")),
            Term('X_"enc"', "the encoder’s output, also called memory", shape),
        ),
        notes=(
            "torch.nn.Transformer has neither embeddings nor an output layer; its inputs are "
            "already vectors.",
            "PyTorch adds a final layer norm after each stack, which the paper does not have.",
            "Masks are passed by the caller: without a target mask, the decoder also attends to "
            "later positions.",
        ),
        config_keys=view.keys("width", "layers", "heads", "feed-forward"),
        source="Vaswani et al. 2017, section 3.1; torch.nn.Transformer",
    )


def transformer_base(view: ModuleView) -> Formula:
    """The model of 2017: scaled embeddings, sinusoids, encoder-decoder (Vaswani et al. 2017)."""
    table = view.tensors["embedding.weight"].shape
    width = table[1]
    return Formula(
        title="Encoder-decoder with embeddings",
        summary="Reads a source sequence of token ids and generates a target sequence; both share "
        "one token embedding table.",
        maths=(
            f"{sized('x_s', width)} = sqrt({width}) thick {sized('W', *table)}[t_s] + "
            f"{sized('P', 'S', width)}[s]",
            f"P_(s, 2i) = sin(s / 10000^(2i \\/ {width})), quad "
            f"P_(s, 2i+1) = cos(s / 10000^(2i \\/ {width}))",
            'X_"enc" = "Encoder"(X_"src"), quad Y = "Decoder"(X_"tgt", X_"enc")',
        ),
        terms=(
            TOKENS,
            Term("t_s", "token id at position s of the source or target"),
            Term("W", "token embedding table, shared by source and target", shape_text(table)),
            Term("P", "position encodings: fixed sinusoids, not learnt"),
            Term('X_"src", X_"tgt"', "rows x_s of the source and the target"),
            Term('X_"enc"', "the encoder’s output"),
            Term("Y", "the decoder’s last hidden state, one row per target position"),
        ),
        notes=(
            f"The token vectors are multiplied by √{width}, the square root of the embedding "
            "size, before the position encodings are added.",
            "The target is masked: each of its positions attends only to itself and earlier ones.",
            "Sinusoids need no parameters: they are computed for as many positions as the "
            "sequence has.",
        ),
        config_keys=view.keys("vocabulary", "width", "heads", "feed-forward", "dropout"),
        source="Vaswani et al. 2017, sections 3.1, 3.4 and 3.5",
    )


def encoder_decoder(view: ModuleView) -> Formula:
    """BART's or T5's model: an encoder and a decoder that share a table (Lewis et al. 2020)."""
    table = view.tensors["shared.weight"].shape
    if "decoder" not in view.children:
        return _encoder_only(view, table)
    view.below("encoder")
    return Formula(
        title="Encoder-decoder with embeddings",
        summary="The encoder reads one sequence of token ids; the decoder generates another, "
        "attending to the encoder’s output.",
        maths=(
            f'{sized(_ENC, "S", table[1])} = "Encoder"(t)',
            f'{sized("Y", "S_d", table[1])} = "Decoder"(u, {_ENC})',
        ),
        terms=(
            Term("S", "number of source tokens"),
            Term("S_d", "number of target tokens"),
            Term("t", "token ids of the source", "[S]"),
            Term("u", "token ids of the target so far, shifted by one position", "[S_d]"),
            Term(_ENC, "the encoder’s output"),
            Term("Y", "the decoder’s last hidden state, one row per target position"),
        ),
        notes=(
            Note(
                f"Encoder and decoder look up tokens in the same table, “shared”, {list(table)}: "
                "it is listed wherever it is used but counted once.",
                shares_its_table,
            ),
            "The decoder’s input starts with decoder_start_token_id, so that position s predicts "
            "token s of the target.",
        ),
        config_keys=view.keys("vocabulary", "width", "layers", "heads", "feed-forward"),
        source="Vaswani et al. 2017, section 3.1; Lewis et al. 2020; Raffel et al. 2020",
    )


def _encoder_only(view: ModuleView, table: tuple[int, ...]) -> Formula:
    """T5's encoder alone."""
    view.below("encoder")
    return Formula(
        title="Encoder model",
        summary="Maps a sequence of token ids to one context-dependent vector per token.",
        maths=(f'{sized("Y", "S", table[1])} = "Encoder"(t)',),
        terms=(TOKENS, Term("t", "token ids", "[S]"), Term("Y", "last hidden state")),
        notes=("It is the encoder of an encoder-decoder; this model has no decoder.",),
        config_keys=view.keys("vocabulary", "width", "layers", "heads", "feed-forward"),
        source="Raffel et al. 2020, section 2.1",
    )


def _table(name: str) -> str:
    return f'W_"{name}"'


def _pooled(view: ModuleView) -> str:
    """Return the pooler's line; ALBERT's is a linear layer and a tanh in the model itself."""
    if view.kind_below("pooler") is ModuleKind.LINEAR:
        return f"p = tanh({view.affine('pooler').maths('y_0', sizes=False)})"
    return 'p = "Pooler"(y_0)'


def _pooler_notes(view: ModuleView) -> tuple[str, ...]:
    if "pooler" not in view.children:
        return ("This model has no pooler: heads read the last hidden state directly.",)
    return ("The pooler reads only the first token ([CLS] in BERT).",)
