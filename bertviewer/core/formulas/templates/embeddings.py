"""Modules that turn token ids into vectors."""

from bertviewer.core.expressions.shape_text import shape_text
from bertviewer.core.formulas.facts import child_drops
from bertviewer.core.formulas.formula import Formula, Term
from bertviewer.core.formulas.module_view import ModuleView
from bertviewer.core.formulas.norms import Norm, norm_of
from bertviewer.core.formulas.notation import INTO, sized
from bertviewer.core.formulas.notes import Note

_WORD = Term("t_s", "token id at position s")


def embeddings(view: ModuleView) -> Formula:
    """Word, segment and position vectors added, then normalised (Devlin et al. 2019, section 3)."""
    word = view.tensors["word_embeddings.weight"].shape
    width = word[1]
    rescaled = view.attribute("rescale_embeddings") is True
    factor = f"sqrt({width}) thick " if rescaled else ""
    offset = _offset(view)
    position = "p_s" if offset is not None else "s"
    parts = [f"{factor}{sized(_table('word'), *word)}[t_s]"]
    terms = [_WORD, Term(_table("word"), "one row per vocabulary entry", shape_text(word))]
    types = view.shape("token_type_embeddings.weight")
    if types:
        parts.append(f"{sized(_table('type'), *types)}[g_s]")
        second = "0 for the first sentence, 1 for the second" if types[0] > 1 else "always 0"
        terms.append(Term("g_s", f"segment id at position s: {second}"))
        terms.append(Term(_table("type"), "one row per segment", shape_text(types)))
    places = view.shape("position_embeddings.weight")
    if places:
        parts.append(f"{sized(_table('pos'), *places)}[{position}]")
        terms.append(Term(_table("pos"), "one row per position", shape_text(places)))
    shift = "" if offset is None else f", quad p_s = s + {offset + 1}"
    summed, wide = "e_s", width
    if "embed_proj" in view.children:
        widening = view.affine("embed_proj")
        summed, wide = widening.maths("e_s", INTO), widening.outputs
        terms += widening.terms("the embedding projection", INTO)
    norm = norm_of(view, "LayerNorm")
    terms += norm.terms
    return Formula(
        title="Embeddings",
        summary=_summary(types is not None, places is not None),
        maths=(
            f"{sized('e_s', width)} = {' + '.join(parts)}{shift}",
            f"{sized('y_s', wide)} = {norm.operator}({summed})",
        ),
        terms=tuple(terms),
        notes=(*_notes(types, places, offset), dropout_last(norm)),
        config_keys=view.keys(
            "vocabulary",
            "embedding width",
            "width",
            *(("positions",) if places else ()),
            *(("token types",) if types else ()),
            "padding",
            "embedding scale",
            "epsilon",
            "dropout",
        ),
        source="Devlin et al. 2019, section 3 and figure 2",
    )


def dropout_last(norm: Norm) -> Note:
    """Return the note on the dropout behind a norm."""
    return Note(
        f"Dropout follows the {norm.name} during training; in evaluation mode it has no effect.",
        child_drops,
    )


def _summary(types: bool, places: bool) -> str:
    start = "Maps token ids to vectors: looks up"
    if not types and not places:
        return f"{start} a vector for each token and normalises it."
    if types and places:
        listed = "the token, its position and its segment"
    else:
        listed = f"the token and its {'segment' if types else 'position'}"
    return f"{start} one vector each for {listed}, adds them and normalises the sum."


def _table(name: str) -> str:
    return f'W_"{name}"'


def _offset(view: ModuleView) -> int | None:
    """Return the padding row of the position table; RoBERTa counts positions after it."""
    if "position_embeddings" not in view.children:
        return None
    return view.below("position_embeddings").integer("padding_idx")


def _notes(
    types: tuple[int, ...] | None, places: tuple[int, ...] | None, offset: int | None
) -> tuple[str, ...]:
    notes = ["Square brackets denote the lookup of a table row; the tables are learnt."]
    if types or places:
        notes.insert(0, "The vectors are added, not concatenated, so their size stays the same.")
    if types:
        notes.append(
            "With a single sentence every g is 0, so the same segment vector is added at every "
            "position."
            if types[0] > 1
            else "There is only one segment, so the same vector is added at every position; two "
            "sentences are distinguished by the separator."
        )
    if places and offset is None:
        notes.append(
            f"The position table has {places[0]} rows, which is the maximum sequence length."
        )
    if places and offset is not None:
        notes.append(
            f"Positions are counted from padding_idx + 1 = {offset + 1}, after the padding row "
            f"{offset}: of the {places[0]} rows, {places[0] - offset - 1} can be used for tokens. "
            f"Padding tokens use row {offset} and are not counted, so a token’s position does not "
            "depend on the amount of padding before it."
        )
    if places and not types:
        notes.append(
            "This model has no segments: two sentences are distinguished by the separator."
        )
    return tuple(notes)
