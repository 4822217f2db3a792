"""RoBERTa (Liu et al. 2019), XLM-RoBERTa and CamemBERT: BERT with other numbers for its positions."""

from dataclasses import replace

from model.weights.families import bert

ROBERTA = replace(
    bert.BERT,
    model_types=("roberta", "xlm-roberta", "camembert"),
    config=lambda raw: bert.config(raw, position_offset=raw.get("pad_token_id", 1) + 1),  # as fairseq counts them
    prefix="roberta.",
)
