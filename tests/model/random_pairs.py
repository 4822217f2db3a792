"""Small random encoder–decoders in folders, with tokenizers, as the hub has them. `bart` is what pages open too."""

import tokenizers
import torch
from tokenizers import decoders, models, pre_tokenizers, processors

from tests.model.random_checkpoints import save_random

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def lively(make, std, tables):
    """Makes a model whose matrices and tables of vectors have numbers of these sizes.

    Matrices of 0.5 give maps that are far from even; of 0.1 beside tables of 1, texts that don't repeat one token.
    """

    def made(config):
        model = make(config)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if parameter.dim() == 2:
                    is_table = any(part in name for part in ("embed", "shared", "lm_head"))
                    parameter.normal_(std=tables if is_table else std)
        return model

    return made


def bart(folder, *, std=0.5, tables=0.5, **sizes):
    """A random BART of 2 and 3 layers over the bytes of a text, `<s> … </s>`, written to a folder."""
    import transformers

    special = ["<s>", "<pad>", "</s>", "<unk>"]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: i for i, token in enumerate([*special, *letters])}
    backend = tokenizers.Tokenizer(models.BPE(vocabulary, []))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    backend.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    backend.add_special_tokens(special)
    heads = {f"{part}_attention_heads": 4 for part in ("encoder", "decoder")}
    widths = {f"{part}_ffn_dim": 32 for part in ("encoder", "decoder")}
    usual = {"d_model": 24, "encoder_layers": 2, "decoder_layers": 3, "max_position_embeddings": 600, **heads, **widths}
    config = transformers.BartConfig(vocab_size=len(vocabulary), **usual | sizes)
    theirs = save_random(config, lively(transformers.BartForConditionalGeneration, std, tables), folder)
    backend.save(str(folder / "tokenizer.json"))
    return theirs


def t5(folder, *, std=0.5, tables=0.5, **sizes):
    """A random T5 of 2 layers over letters, `… </s>`, with a space before each word, written to a folder."""
    import transformers

    pieces = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), ("▁", -2.0)]
    pieces += [(piece, -3.0) for letter in LETTERS for piece in (letter, f"▁{letter}")]
    backend = tokenizers.Tokenizer(models.Unigram(pieces, 2))
    backend.pre_tokenizer, backend.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    backend.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    backend.add_special_tokens(["<pad>", "</s>", "<unk>"])
    usual = {"d_model": 24, "d_kv": 6, "d_ff": 32, "num_layers": 2, "num_heads": 4}
    config = transformers.T5Config(vocab_size=len(pieces), decoder_start_token_id=0, **usual | sizes)
    theirs = save_random(config, lively(transformers.T5ForConditionalGeneration, std, tables), folder)
    backend.save(str(folder / "tokenizer.json"))
    return theirs
