"""Plain sentences that have nothing to do with one another: what a cosine is compared with."""

import re

ENGLISH = (
    "The train to the coast leaves at half past seven.",
    "She painted the kitchen door a bright yellow.",
    "Copper conducts electricity better than iron.",
    "My grandfather kept bees behind the barn.",
    "The court postponed its decision until autumn.",
    "Add two eggs and stir until the dough is smooth.",
    "Their team lost the final by a single goal.",
    "Whales breathe air and feed their young with milk.",
    "He forgot his umbrella in the dentist's waiting room.",
    "Interest rates have hardly changed since last year.",
    "The old bridge was closed to lorries after the flood.",
    "Children under six may visit the museum for free.",
)
CHINESE = (
    "去海边的火车七点半出发。",
    "她把厨房的门刷成了黄色。",
    "铜的导电性比铁好。",
    "我爷爷在谷仓后面养蜜蜂。",
    "法院把判决推迟到了秋天。",
    "加两个鸡蛋，搅拌到面团光滑为止。",
    "他们队在决赛中以一球之差输了。",
    "鲸鱼呼吸空气，用乳汁喂养幼崽。",
    "他把雨伞忘在了牙医的候诊室里。",
    "利率从去年起几乎没有变化。",
    "洪水过后，旧桥禁止卡车通行。",
    "六岁以下的儿童可以免费参观博物馆。",
)
_IDEOGRAPH = re.compile("[\u3400-\u9fff]")


def unrelated_to(text: str) -> tuple[str, ...]:
    """Return a dozen such sentences in the writing of a text."""
    letters = sum(letter.isalpha() for letter in text)
    return CHINESE if 2 * len(_IDEOGRAPH.findall(text)) > letters else ENGLISH
