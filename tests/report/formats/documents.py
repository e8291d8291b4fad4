"""Made-up documents: small ones, and one with every kind of block and span."""

from datetime import date
from functools import cache

from bertviewer.report.blocks import (
    Answer,
    Bar,
    Bibliography,
    Block,
    Break,
    Code,
    Column,
    Entry,
    Facts,
    Figure,
    FormulaBlock,
    Letters,
    Listing,
    Maths,
    Muted,
    Paragraph,
    Points,
    Row,
    Section,
    See,
    Strong,
    Sum,
    SumTerm,
    Table,
    Tick,
    TokenBox,
    Tokens,
)
from bertviewer.report.document import Front, ReportDocument
from bertviewer.report.formats.latex import LatexWriter
from bertviewer.report.formats.markdown import MarkdownWriter

HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "&amp; &#65; &lt;b&gt; ' \" ` </td></table></style>",
    "\\input{/etc/passwd} \\end{document} %comment $x^2$ #1 ~_^{}",
    "| a | b |\n|---|---| **bold** _it_ [link](http://x.org) ![i](y)",
    "# heading\n1. one\n- two\n> quote\n```\ncode\n```\n===",
    '=HYPERLINK("http://x.org") +1 @SUM(A1) --- ?`!` << >> ,,',
    "nul \0 surrogate \udc80 override \u202eevil\u202c bell \a zero\u200bwidth",
    "  two  spaces\tand a tab ",
    "*star [bracket] \\\\ * [2pt]",
)
SIGNS = "Ł. Kaiser’s “10⁶ ≤ 384² × √Δ”, it's −0.5 μ… Čapek, Şahin, Őry: N·(4·D²), x₂"
FOREIGN = ("注意力机制", "שלום (12)", "مرحبا بالعالم", "Ω λ ж é ß", "😀 → ∀ √", "हिन्दी", "𝔘𝔫𝔦")
PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="400" height="120" viewBox="0 0 400 120" '
    "font-family=\"Inter, 'DejaVu Sans'\"><title>A drawing</title>"
    '<defs><linearGradient id="shade"><stop offset="0" stop-color="#4453c8"/>'
    '<stop offset="1" stop-color="#0e8f83"/></linearGradient></defs>'
    '<g class="node" data-id="a"><rect id="box" x="10" y="20" width="380" height="60" '
    'fill="url(#shade)"/><text x="20" y="60" font-size="14" fill="#ffffff" '
    'xml:space="preserve">a &lt;b&gt; &amp; 注意 c</text></g></svg>'
)
ATTENTION = FormulaBlock(
    title="Scaled dot-product attention",
    about=(Code("BertSelfAttention"), " · ", Code("encoder.layer.0.attention.self")),
    summary="Every token attends to all tokens.",
    maths=(
        'A_h = "softmax"((Q_h K_h^top) / sqrt(d_k) + M)',
        "Z = limits(W_O)_(768 times 768) x + b_O, quad x in RR^(S times D)",
        "mu = 1 / D sum_(i=1)^D x_i \\ sigma^2 = 1 / D sum_(i=1)^D (x_i - mu)^2",
    ),
    where=(
        *(Maths("bold(Q)_h"), " ", Letters("queries of one head, S × 64"), "; "),
        *(Maths("d_k"), " width of a head, 64; "),
        *(Maths("M"), " the mask: 0, or −∞. Parts: ", Code("query"), " (", See("attention"), ")."),
    ),
    notes=("Without the root, the scores grow with the width of a head.",),
    source="Vaswani et al. 2017, section 3.2.1",
    name="attention",
)
DECIMALS = Table(
    columns=(
        Column("Layer"),
        Column("Mean", "decimal"),
        Column("Size", "decimal", unit="MB"),
        Column("Holds", "center"),
        Column("Share", share=1.0),
    ),
    rows=(
        Row((("Embeddings",), (), (), (), ()), "plain"),
        Row((("word",), ("−0.25",), ("12",), (Tick(True),), (Bar(0.75),)), level=1),
        Row((("position",), ("1,012.125",), ("1.5",), (Tick(False),), (Bar(0.0),)), level=2),
        Row((("Encoder, of ", Maths("L"), " layers"), ("12 in all",)), "head"),
        Row((("norm",), (Strong("NaN"),), ("—",), (), ("words", Break(), Muted("below")))),
        Row((("Total",), ("3",), (Strong("13.5"),), (), (Bar(1.0),)), "total"),
    ),
    name="decimals",
    caption=("Numbers are aligned at the ", Strong("decimal point"), "."),
)
LONG = Table(
    columns=(
        Column("Module", share=1.5),
        Column("Class", share=1.0),
        Column("Parameters", "right"),
        Column("Shape"),
    ),
    rows=tuple(
        Row(
            (
                (Code(f"encoder.layer.{number}.attention.output.LayerNorm.weight_of_it"),),
                (Code("BertSelfAttentionWithAVeryLongName"),),
                (f"{number * 768:,}",),
                (Code("768 × 768"),),
            ),
            level=number % 3,
        )
        for number in range(90)
    ),
    name="modules",
    caption=("All modules, on more than one page.",),
)
BLOCKS: tuple[Block, ...] = (
    Paragraph(("A sentence with ", Code("code.path_name"), ", ", Maths("d_k = D / h"), " and ",
               Strong("strong"), Muted(" muted"), " words; see ", See("decimals"), ", ",
               See("picture"), ", ", See("attention"), " and ", See("second"), ".")),
    Paragraph((SIGNS,)),
    Paragraph(("It is ", Tick(True), " or ", Tick(False), Bar(0.5), Break(), "below."), "note"),
    Paragraph((Letters("N_e·<D>"), " see שלום (12) ", Code("שלום"))),
    Paragraph(("The cat sat on the mat.",), "quote"),
    Paragraph(("All weights are random.",), "warning"),
    Facts((("Class", (Code("BertModel"),)), ("Parameters", ("109,482,240",)))),
    DECIMALS,
    Table((Column("Key"), Column("Value", share=1)), (Row((("a",), ("b",))),)),
    Figure("drawing", "picture", ("What is ", Strong("drawn"), "."), 'A "box" with words', 0.6),
    ATTENTION,
    Sum(
        "Embeddings",
        (
            SumTerm("", "V × D", "30,522 × 768", "23,440,896"),
            SumTerm("+", "P × D", "512 × 768", "393,216"),
            SumTerm("+", "2 × D", "2 × 768", "1,536"),
        ),
        "23,835,648",
        is_proven=True,
    ),
    Sum("Pooler", (SumTerm("", "D × D + D", "768 × 768 + 768", "590,592"),), "590,592"),
    Sum("Odd", (), "17", reason="no formula was found"),
    Answer(
        "Why the root?",
        "It keeps the scores from growing with the width.",
        "Here d_k is 64.",
        "Vaswani et al. 2017",
    ),
    Tokens(
        (
            TokenBox("[CLS]", "101 · 0"),
            TokenBox("##ing", "1 · 0"),
            TokenBox("注意", "7 · 1", is_second=True),
            TokenBox("שלום", "8 · 1", is_second=True),
        )
    ),
    Listing(("bertviewer report demo -o report.pdf \\", "    --sentence 'a  b'")),
    Points((("first ", Code("a_b")), ("second",))),
)  # fmt: skip
UNTRUSTED: tuple[Block, ...] = (
    Points(tuple((text,) for text in (*HOSTILE, *FOREIGN))),
    Table(
        (Column("Key"), Column("Value", share=1)),
        tuple(Row(((Code(text),), (text,))) for text in (*HOSTILE, *FOREIGN)),
        "hostile",
        ("Untrusted texts",),
    ),
    Tokens(tuple(TokenBox(text, str(n)) for n, text in enumerate((*HOSTILE, *FOREIGN)))),
    Listing((*HOSTILE, *FOREIGN)),
)
WORKS = Bibliography(
    (
        Entry("Vaswani et al. 2017", "Vaswani, A. et al. (2017). Attention is all you need.", "https://arxiv.org/abs/1706.03762"),
        Entry("Ba et al. 2016", "Ba, J. L. et al. (2016). Layer normalization."),
    )
)  # fmt: skip


@cache
def latex_writer() -> LatexWriter:
    """Return a writer for single spans."""
    return LatexWriter(document_of(), "figures", 455.0)


@cache
def markdown_writer() -> MarkdownWriter:
    """Return a writer for single spans."""
    return MarkdownWriter(document_of(), "figures")


def document_of(
    *blocks: Block, title: str = "bert-base", pictures: dict[str, str] | None = None
) -> ReportDocument:
    """Return a document of one chapter."""
    return _document((Section("only", "A chapter", blocks),), title, pictures or {})


def full_document(*, is_golden: bool = False) -> ReportDocument:
    """Return a document of all blocks, without long and untrusted ones for a golden file."""
    inner: tuple[Section, ...] = (
        Section("long", "A long table", (LONG,)),
        Section("untrusted", "Untrusted <texts> & others", UNTRUSTED),
    )
    if is_golden:
        inner = (Section("inner", "A <section> & others", (Paragraph(("Text.",)),)),)
    text = ("See ", See("first"), ", ", See("second"), " and ", See("works"), ".")
    chapters = (
        Section("summary", "Summary", (Paragraph(text),), numbering="none"),
        Section("first", "Every block", BLOCKS, inner),
        Section(
            "second", "More", (Paragraph(("After ", See("decimals"), ".")),), numbering="appendix"
        ),
        Section("works", "Works", (WORKS,), numbering="none"),
    )
    return _document(chapters, "bert-base-uncased", {"drawing": PICTURE, "stack": PICTURE})


def _document(
    chapters: tuple[Section, ...], title: str, pictures: dict[str, str]
) -> ReportDocument:
    front = Front(
        title=title,
        subtitle="BertModel, no head",
        author="A. Reader",
        date=date(2026, 3, 4),
        facts=(
            ("Weights", ("from ", Code("hf://google-bert/bert-base-uncased"))),
            ("SHA-256", (Code("0123456789abcdef" * 4),)),
        ),
        warning="Some figures come from random weights.",
        running_warning="random weights",
        picture="stack" if "stack" in pictures else "",
        program="bertviewer 1.0",
        subject="BertModel: parameters & costs",
        keywords=("BertModel", "bert"),
    )
    return ReportDocument(front, chapters, pictures)
