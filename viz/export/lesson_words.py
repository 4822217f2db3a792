"""What a printed lesson says besides the lesson's own words, in both languages.

Here and not in the app's catalogue: a lesson is printed in a language of its own, from the command line too, and viz/
knows nothing of the app's language.
"""

from collections.abc import Callable

from analysis.lessons.lesson import Language, Predict, Words

WORDS = {
    "en": Words("en", "zh-CN"),
    "minutes": Words("{n} minutes", "{n} 分钟"),
    "name": Words("Name", "姓名"),
    "test": Words("Self-test", "自测"),
    "answers": Words("Answers", "答案"),
    "answer": Words("Answer", "答案"),
    "because": Words("Because", "理由"),
    "stands in": Words(
        "The model for Chinese isn't installed here: sentence and model are the English ones.",
        "此处没有安装中文模型，句子和模型用的是英文的。",
    ),
    "computed": Words(
        "Every answer was computed by the model named, when this page was made ({app}).",
        "每个答案都由所列模型在生成本页时计算得出（{app}）。",
    ),
    "numbers of": Words("{model}, mask {mask}", "{model}，掩码 {mask}"),
    "no answer": Words("This step has no answer here: {reason}", "这一步在此处没有答案：{reason}"),
    "cells": Words("{n} cells", "{n} 格"),
    "mistakes": Words("“{text}”: {wrong}", "“{text}”：{wrong}"),
}
TO_DO: dict[Predict, Words] = {
    "token": Words("Circle your guess.", "圈出你的预测。"),
    "pair": Words(
        "Circle two words and draw an arrow from the first to the second.", "圈出两个词，从第一个向第二个画箭头。"
    ),
    "choice": Words("Tick one.", "勾选一项。"),
    "order": Words("Number them 1, 2, 3 …", "按先后编号 1、2、3……"),
    "number": Words("Write your guess.", "写下你的预测。"),
    "cells": Words("Colour the cells.", "把格子涂上颜色。"),
}
# Of the pictures, English → Chinese.
PICTURES = {
    "query (row) looks at key (column)": "查询（行）关注键（列）",
    "layer ↓ head →": "层 ↓ 头 →",
    "{n} heads": "{n} 个头",
    "head {name}": "头 {name}",
    "rows rescaled": "各行重新归一",
    "0 in place of −∞": "用 0 代替 −∞",
    "layer {n}": "第 {n} 层",
    "attention": "注意力",
    "BLEU, Vaswani et al. 2017, Table 3 (A)": "BLEU，Vaswani 等 2017，表 3 (A)",
    "tokens": "词元嵌入",
    "positions": "位置嵌入",
    "types": "类型嵌入",
    "embedding_norm": "嵌入的归一化",
    "qk_norm": "查询与键的归一化",
    "ffn": "前馈网络",
    "norms": "归一化",
    "final_norm": "末尾归一化",
    "output": "输出层",
    "pooler": "池化层",
    "model": "模型",
    "mask": "掩码",
}
PARTS = {  # what stands in English for the names of a model's parts
    "tokens": "token embeddings",
    "positions": "position embeddings",
    "types": "type embeddings",
    "embedding_norm": "norm of embeddings",
    "qk_norm": "norms of queries and keys",
    "ffn": "feed-forward network",
    "final_norm": "last norm",
    "output": "output layer",
}


MASKS = {"bidirectional": "双向", "causal": "因果", "window": "窗口", "prefix": "前缀", "padding": "填充"}


def mask_in(language: Language, mask: str) -> str:
    """A mask's name, as the app says it in that language."""
    if language == "en":
        return mask
    return "+".join(MASKS.get(kind, kind) + rest for kind, rest in (_parted(part) for part in mask.split("+")))


def _parted(part: str) -> tuple[str, str]:
    kind, colon, size = part.partition(":")
    return kind, colon + size


def said(name: str, language: Language, **values: object) -> str:
    """One of `WORDS`, filled."""
    return str(getattr(WORDS[name], language)).format(**values)


def pictures_in(language: Language) -> Callable[[str], str]:
    """Translates the words of pictures."""
    table = PICTURES if language == "zh" else PARTS
    return lambda text: table.get(text, text)
