"""LaTeX commands for mathematical signs and letters, known to any TeX and to MathJax."""

import unicodedata

SIGNS = {
    **{sign: sign for sign in "+=,.:;!?()[]/*<>"},
    "-": "-",
    "\N{MINUS SIGN}": "-",
    "'": "'",
    "{": r"\{",
    "}": r"\}",
    "|": r"\vert",
    "_": r"\_",
    "#": r"\#",
    "%": r"\%",
    "&": r"\&",
    "$": r"\$",
    "\\": r"\backslash",
    "~": r"\sim",
    "\N{DOUBLE VERTICAL LINE}": r"\Vert",
    "×": r"\times",
    "÷": r"\div",
    "±": r"\pm",
    "·": r"\cdot",
    "⋅": r"\cdot",
    "•": r"\bullet",
    "∗": r"\ast",
    "∘": r"\circ",
    "⊙": r"\odot",
    "⊕": r"\oplus",
    "⊗": r"\otimes",
    "⊤": r"\top",
    "⊥": r"\bot",
    "…": r"\dots",
    "⋯": r"\cdots",
    "⋮": r"\vdots",
    "⋱": r"\ddots",
    "∑": r"\sum",
    "∏": r"\prod",
    "∫": r"\int",
    "⋃": r"\bigcup",
    "⋂": r"\bigcap",
    "∂": r"\partial",
    "∇": r"\nabla",
    "∞": r"\infty",
    "∈": r"\in",
    "∉": r"\notin",
    "⊂": r"\subset",
    "⊆": r"\subseteq",
    "∪": r"\cup",
    "∩": r"\cap",
    "∅": r"\emptyset",
    "∖": r"\setminus",
    "∼": r"\sim",
    "≈": r"\approx",
    "≡": r"\equiv",
    "≠": r"\neq",
    "≤": r"\leq",
    "≥": r"\geq",
    "≪": r"\ll",
    "≫": r"\gg",
    "∝": r"\propto",
    "→": r"\rightarrow",
    "←": r"\leftarrow",
    "↔": r"\leftrightarrow",
    "⇒": r"\Rightarrow",
    "⇔": r"\Leftrightarrow",
    "↦": r"\mapsto",
    "∀": r"\forall",
    "∃": r"\exists",
    "¬": r"\neg",
    "∧": r"\wedge",
    "∨": r"\vee",
    "∥": r"\parallel",
    "∣": r"\mid",
    "√": r"\surd",
    "⌊": r"\lfloor",
    "⌋": r"\rfloor",
    "⌈": r"\lceil",
    "⌉": r"\rceil",
    "⟨": r"\langle",
    "⟩": r"\rangle",
    "′": r"\prime",
    "″": r"\prime\prime",
    "ℓ": r"\ell",
    "ℏ": r"\hbar",
    "ℎ": "h",  # the italic h of Unicode
    "°": r"{}^\circ",
}
ACCENTS = {
    "\u0302": r"\hat",
    "\u0303": r"\tilde",
    "\u0304": r"\bar",
    "\u0307": r"\dot",
    "\u0308": r"\ddot",
    "\u030c": r"\check",
    "\u20d7": r"\vec",
    "^": r"\hat",
    "~": r"\tilde",
    "¯": r"\overline",
    "‾": r"\overline",
    "_": r"\underline",
    "→": r"\overrightarrow",
    "⏞": r"\overbrace",
    "⏟": r"\underbrace",
}
OPENING = {"|": r"\lvert", "\N{DOUBLE VERTICAL LINE}": r"\lVert"}
CLOSING = {"|": r"\rvert", "\N{DOUBLE VERTICAL LINE}": r"\rVert"}
FENCES = frozenset("()[]{}|⌊⌋⌈⌉⟨⟩\N{DOUBLE VERTICAL LINE}")

# Typst's phi and epsilon are LaTeX's variants.
_GREEK = dict(
    zip(
        "αβγδεζηθικλμνξοπρςστυφχψωϵϕϑΓΔΘΛΞΠΣΥΦΨΩ",
        (
            *("alpha", "beta", "gamma", "delta", "varepsilon", "zeta", "eta", "theta", "iota"),
            *("kappa", "lambda", "mu", "nu", "xi", "o", "pi", "rho", "varsigma", "sigma", "tau"),
            *("upsilon", "varphi", "chi", "psi", "omega", "epsilon", "phi", "vartheta"),
            *("Gamma", "Delta", "Theta", "Lambda", "Xi", "Pi", "Sigma", "Upsilon", "Phi", "Psi"),
            "Omega",
        ),
        strict=True,
    )
)
_STYLES = (
    ("BOLD ITALIC ", r"\boldsymbol"),
    ("SCRIPT ", r"\mathcal"),
    ("BOLD ", r"\mathbf"),
    ("ITALIC ", ""),
    ("BLACK-LETTER ", r"\mathfrak"),
    ("FRAKTUR ", r"\mathfrak"),
    ("DOUBLE-STRUCK ", r"\mathbb"),
    ("SANS-SERIF ", r"\mathsf"),
    ("MONOSPACE ", r"\mathtt"),
)


def letter(sign: str) -> str:
    """Return the LaTeX of a mathematical sign or letter; upright ones stay upright.

    Raises:
        ValueError: it is not known.
    """
    if sign in SIGNS:
        return SIGNS[sign]
    if sign.isascii() and sign.isalnum():
        return sign if sign.isdigit() else rf"\mathrm{{{sign}}}"
    if sign in _GREEK:
        return "\\" + _GREEK[sign]
    name, decomposition = unicodedata.name(sign, ""), unicodedata.decomposition(sign)
    base = chr(int(decomposition.split()[1], 16)) if decomposition.startswith("<font>") else ""
    for style, command in _STYLES:
        if style in name and (base in _GREEK or base.isalnum()):
            plain = "\\" + _GREEK[base] if base in _GREEK else base
            return f"{command}{{{plain}}}" if command else plain
    raise ValueError(f"no command is known for the sign {sign!r}, {name}")
