"""Table of all pictures: names, steps, themes and sizes."""

from PySide6.QtCore import Qt

from bertviewer.core.util.errors import UserError
from bertviewer.ui.run.run_view import EXPLAINED
from tests.screenshots import models
from tests.screenshots.chapter import USUAL, Chapter, Picture
from tests.screenshots.steps import (
    asked,
    at,
    chosen,
    clicked,
    compared_with,
    comparing,
    does,
    exported,
    failing,
    going_on,
    headed,
    held,
    item_of,
    keys_in,
    listed,
    made,
    menu_of,
    named,
    on_a_full_disk,
    opened,
    paged,
    picked,
    ran,
    reported,
    right_clicked,
    shown,
    tab_of,
    toggled,
    torn_off,
    turned,
    typed,
    unfocused,
    why,
    written,
)

BANK = "The bank by the river was closed, so she walked to the other bank."
OTHER = "The bank raised its rates."
MASKED = "The capital of France is [MASK]."
RIGHT_TO_LEFT = "הבנק ליד הנהר היה סגור, אז היא הלכה לבנק השני."
CHINESE = "河边的银行关门了，所以她走到了另一家银行。"
MARKUP = "<b>bold</b> & <script>alert(1)</script> ﷽ e\u0301 👩‍👩‍👧‍👦 " + "x" * 60
TOKENS_512 = " ".join(["river", "bank"] * 255)
ATTENTION, SELF_1 = "encoder.layer.3.attention.self", "encoder.layer.1.attention.self"
TOKENIZER = "the tokenizer of demo was not read: it takes too much memory or time"
MEMORY = "there is not enough memory to look at the attention of layer 3: it takes 12.4 GB"
LIGHT = ("light",)
SMALL = (1200, 760)
"""Letters are legible in a picture that is shown at half its size."""
SIZES = ((1024, 700), (1280, 720), (1366, 768), USUAL, (1920, 1080), (2560, 1440))

DEMO = (opened("demo"), ran(BANK), at(ATTENTION, token=2, head=8))
TABS = ("Map", "Formula", "Tensors", "Walk", "What if", "Configuration", "Source")
VIEWS = ("Layers", "Token", "Similarity", "Attention", "Histogram", "Predictions", "Tokens")


def _titled(titles: tuple[str, ...]) -> tuple[Picture, ...]:
    return tuple(Picture(title.lower().replace(" ", "-"), (shown(title),)) for title in titles)


CHAPTERS = (
    Chapter("start", (
        Picture("welcome", sizes=((1024, 700), USUAL, (2560, 1440))),
        Picture("opening", (held(named("demo"), 0, 0, "Reading"),)),
        Picture("opened", (opened("demo"),)),
        Picture("welcome-over-a-model", (toggled("showWelcome"),)),
    )),
    Chapter("tabs", (
        *_titled(TABS),
        Picture("map-of-the-model", (shown("Map"), at(""))),
        Picture("map-of-a-layer", (at("encoder.layer.3"),)),
        Picture("map-of-a-linear", (at("encoder.layer.3.intermediate"),)),
        Picture("map-of-embeddings", (at("embeddings"),)),
        Picture("treemap", (at("encoder.layer.3"), keys_in("mapCanvas", Qt.Key.Key_T))),
        Picture("checked", (shown("Formula"), at(ATTENTION), clicked("checkButton")),
                sizes=((1440, 1400),)),
    ), DEMO),
    Chapter("tensors", (
        *(Picture(name, (chosen("tensorTable", 0), clicked(f"tensorView{n}"))) for n, name in
          enumerate(("values", "heatmap", "histogram", "singular-values", "norms"))),
        *(Picture(f"gave-{name}", (does("showValues"), clicked(f"tensorView{n}"))) for n, name in
          enumerate(("values", "heatmap", "histogram"))),
        Picture("took-by-a-layer", (at("encoder.layer.3"), listed("tensorTable", "hidden_states"))),
        Picture("one-token", (clicked("tensorView0"), item_of("tokenChoice", 3))),
        Picture("checked", (at(ATTENTION), does("checkModule"), shown("Tensors"),
                            item_of("tokenChoice", 0), listed("tensorTable", "weights"))),
        Picture("checked-layer", (at("encoder.layer.3"), does("checkModule"), shown("Tensors"),
                                  listed("tensorTable", "= next hidden"))),
        Picture("stale", (typed(OTHER),)),
    ), (*DEMO, shown("Tensors"))),
    Chapter("views", (
        *_titled(VIEWS),
        Picture("enlarged", (shown("Attention"), toggled("enlargeViews"))),
        Picture("stale", (shown("Layers"), typed(OTHER))),
        Picture("compared-layers", (typed(BANK), does("keepAsA"), ran(OTHER))),
        *(Picture(f"compared-{title.lower()}", (shown(title),)) for title in VIEWS[1:]),
        Picture("pair", (ran(BANK, OTHER), shown("Tokens"))),
        Picture("sentences", (turned("tokensSwitch", 1),)),
    ), DEMO),
    Chapter("why", (
        Picture("module", (shown("Map"), asked("scale"))),
        Picture("norm", (at("encoder.layer.3.output.LayerNorm"), asked("gamma"))),
        Picture("model", (at(""), asked("subtotal"))),
        *(Picture(f"view-{title.lower()}", (why(title),)) for title in EXPLAINED[:-1]),
        Picture("random", (opened("bert-base-uncased"), ran(BANK), why("Layers"))),
        Picture("gpt2", (opened("gpt2"), ran(BANK), at("h.3.attn"), why("Attention"))),
    ), DEMO),
    Chapter("predicting", (
        Picture("no-trained-head", (opened("demo"), ran(BANK), shown("Predictions"))),
        Picture("masked-lm", (headed("masked-lm"), ran(MASKED))),
        Picture("classes", (headed("sequence-classification"), ran(BANK))),
        Picture("next-token", (opened("gpt2"), ran(BANK))),
    )),
    Chapter("busy", (
        Picture("run", (held(does("runSentence"), 3, 12, "encoder.layer.3"),)),
        Picture("export", (held(exported, 0, 0, "Typesetting the report"),)),
        Picture("check", (shown("Formula"), held(clicked("checkButton"), 4, 12, "Checking"))),
        Picture("view", (shown("Map"), held(shown("Attention"), 2, 6, ""))),
        Picture("tensor", (shown("Tensors"), chosen("tensorTable", 1),
                           held(clicked("tensorView2"), 0, 0, ""))),
        Picture("compare", (held(comparing("bert-base-uncased"), 0, 0, "Comparing"),)),
        Picture("hub", (models.from_a_hub,)),
        Picture("download", (going_on(clicked("hubDownload")),)),
    ), DEMO),
    Chapter("failed", (
        Picture("nothing-there", (named("/nowhere/at/all"),)),
        Picture("bad-file", (named(models.broken),)),
        Picture("too-long", (typed("word " * 600), does("runSentence"))),
        Picture("run", (typed(BANK), failing(does("runSentence"), RuntimeError("torch gave up")))),
        Picture("tokenizer", (failing(does("runSentence"), UserError(TOKENIZER)),)),
        Picture("view", (failing(shown("Attention"), UserError(MEMORY)),)),
        Picture("full-disk", (on_a_full_disk(exported),)),
        Picture("pickle", (named(models.pickled),)),
        Picture("lacking", (made(models.lacking),)),
        Picture("lacking-which", (clicked("randomBannerButton"),)),
    ), DEMO),
    Chapter("dialogs", (
        Picture("palette", (does("palette"),)),
        Picture("palette-typed", (does("palette"), written("query"))),
        Picture("palette-nothing", (does("palette"), written("qqqq"))),
        Picture("guide", (does("userGuide"),)),
        Picture("guide-found", (does("userGuide"), written("attention"))),
        Picture("guide-shortcuts", (does("keys"),)),
        Picture("about", (does("about"),)),
        Picture("hub", (does("openHub"),)),
        Picture("menu-model", (menu_of("modelChip"),)),
        *(Picture(f"menu-{name}", (menu_of("menuButton", n),)) for n, name in
          enumerate(("file", "go", "module", "view", "run", "help"))),
        Picture("menu-tree", (right_clicked("moduleTree"),)),
        Picture("menu-run", (clicked("runChoices"),)),
        Picture("report", (reported,)),
        Picture("report-small", (reported,), sizes=((1024, 700),)),
        Picture("report-page", (reported, paged(9))),
        Picture("report-grey", (reported, picked("reportGrey"), paged(19)), LIGHT),
        Picture("report-written", (reported, exported), LIGHT),
        Picture("report-busy", (reported, held(exported, 3, 12, "Drawing the figures")), LIGHT),
        Picture("report-failed", (reported, on_a_full_disk(exported)), LIGHT),
        Picture("filter", (does("focusFilter"), written("class:Linear params>100K"))),
        Picture("filter-nothing", (does("focusFilter"), written("qqqq"))),
    ), DEMO),
    Chapter("comparing", (
        Picture("change", (compared_with("bert-base-uncased"),)),
        Picture("tensors", (compared_with("bert-base-uncased"), tab_of("comparisonTabs", 1))),
        Picture("configuration", (compared_with("bert-base-uncased"), tab_of("comparisonTabs", 2))),
    ), (opened("demo"),)),
    Chapter("panes", (
        Picture("run-torn-off", (torn_off("run", (300, 150), (900, 600)),)),
        Picture("structure-torn-off", (torn_off("structure", (700, 100), (420, 700)),)),
        Picture("middle-alone", (toggled("maximiseMiddle"),)),
        Picture("without-sides", (toggled("toggleStructure"), toggled("toggleModule"))),
    ), DEMO),
    Chapter("sizes", (
        Picture("opened", (opened("demo"),), sizes=SIZES),
        Picture("map", (ran(BANK), at(ATTENTION, token=2, head=8)), sizes=SIZES),
        Picture("attention", (shown("Attention"),), LIGHT, SIZES),
        Picture("tensors", (shown("Tensors"),), LIGHT, SIZES),
        Picture("what-if", (shown("What if"),), LIGHT, SIZES),
        Picture("comparing", (compared_with("bert-base-uncased"),), LIGHT, SIZES[:2]),
    )),
    Chapter("large-text", (
        Picture("map", (), LIGHT, SIZES[1:4]),
        Picture("formula", (shown("Formula"),), LIGHT, SIZES[1:4]),
        Picture("layers", (shown("What if"), shown("Layers")), LIGHT, SIZES[1:4]),
        Picture("attention", (shown("Attention"),), LIGHT, SIZES[1:4]),
        Picture("palette", (does("palette"),), LIGHT),
        Picture("report", (reported,), LIGHT),
        Picture("report-small", (reported,), LIGHT, ((1024, 700),)),
        Picture("welcome", (does("showWelcome"),), LIGHT),
    ), (*DEMO, *(does("largerText"),) * 3)),
    Chapter("scale-2", (
        Picture("map", (), sizes=((1280, 680),)),
        Picture("attention", (shown("Attention"),), sizes=((1280, 680),)),
        Picture("formula", (shown("Formula"),), LIGHT, ((1280, 680),)),
        Picture("report", (reported, paged(9)), LIGHT, ((1280, 680),)),
        Picture("welcome", (does("showWelcome"),), LIGHT, ((1280, 680),)),
    ), DEMO, screen=(2560, 1440), scale=2.0),
    Chapter("texts", (
        Picture("right-to-left", (ran(RIGHT_TO_LEFT),)),
        Picture("right-to-left-attention", (shown("Attention"),)),
        Picture("markup", (ran(MARKUP), shown("Tokens"))),
        Picture("512-tokens", (ran(TOKENS_512), shown("Layers"))),
        Picture("512-tokens-attention", (shown("Attention"),), LIGHT),
        Picture("512-tokens-similarity", (shown("Similarity"),), LIGHT),
        Picture("chinese", (opened("bert-base-chinese"), ran(CHINESE), shown("Layers"))),
        Picture("chinese-attention", (shown("Attention"),), LIGHT),
        Picture("long-name", (made(models.long_name), ran(BANK))),
        Picture("100-layers", (made(models.layers_100), ran(BANK), shown("Layers"))),
        Picture("100-layers-attention", (shown("Attention"),), LIGHT),
        Picture("40-heads", (made(models.heads_40), ran(BANK), at(SELF_1))),
    ), (opened("demo"),)),
    Chapter("families", (
        *(picture for name, step, path in (
            ("bert-large", opened("bert-large-uncased"), "encoder.layer.3"),
            ("gpt2", opened("gpt2"), "h.3"),
            ("t5", made(models.t5), "decoder.block.1"),
            ("vit", made(models.vit), "layers.1"),
            ("moe", made(models.moe), "layers.1"),
            ("names-alone", made(models.names_alone), "stack.1"),
        ) for picture in (
            Picture(name, (shown("Map"), step,), LIGHT),
            Picture(f"{name}-layer", (at(path),)),
            Picture(f"{name}-walk", (shown("Walk"),), LIGHT),
        )),
        Picture("gpt2-run", (opened("gpt2"), ran(BANK), shown("Attention"))),
        Picture("t5-run", (made(models.t5), ran(BANK, OTHER), shown("Attention"))),
        Picture("moe-run", (made(models.moe), ran(BANK), shown("Layers"))),
    )),
)  # fmt: skip

README = Chapter("readme", (
    Picture("map", DEMO, LIGHT),
    Picture("formula", (shown("Formula"), toggled("maximiseMiddle")), LIGHT, (SMALL,)),
    Picture("attention", (shown("Attention"), toggled("enlargeViews"), unfocused),
            LIGHT, (SMALL,)),
    Picture("tensors", (shown("Tensors"), toggled("maximiseMiddle"), chosen("tensorTable", 0),
                        clicked("tensorView1")), LIGHT, (SMALL,)),
    Picture("dark", (shown("Layers"), at("encoder.layer.3"), shown("Formula"),
                     clicked("checkButton"), shown("Map")), ("dark",)),
    Picture("report", (reported, paged(9)), LIGHT, (SMALL,)),
), is_numbered=False)  # fmt: skip
