"""The Transformer itself: attention, masks, blocks, positions, tokens, checkpoints, catalogue.

from model import load
trace = load("minilm").trace("The cat sat.", mask="causal")
trace.tokens, trace.attention  # tuple of str; read-only float32 (L, h, N, N)

traces = load("path/to/bart").trace("The cat sat.")  # an encoder–decoder writes its target, or reads the one given
traces.cross.attention  # (L, h, N_q, N_k): target tokens look at source tokens; also traces.encoder, traces.decoder
"""

import model.command_line  # noqa: F401  first: it minds Ctrl-C while torch is imported
from model.attention import MultiHeadAttention, attention_entropy, scaled_dot_product_attention
from model.blocks import FeedForward, TransformerBlock
from model.decoder_block import DecoderBlock
from model.encoder_decoder import Decoder, EncoderDecoder, EncoderDecoderConfig, EncoderDecoderOutput
from model.errors import HeadworkError, NotDownloaded
from model.generation import Generation, generate
from model.loading import load, load_one_part
from model.masks import Mask, parse_mask
from model.norms import LayerNorm, RMSNorm
from model.positions import sinusoidal_positions
from model.seq2seq import EncoderDecoderModel
from model.tokenizers.tokens import Tokens
from model.trace import AttentionTrace, Traces
from model.tracing import AttentionModel
from model.transformer import Transformer, TransformerConfig, TransformerOutput

__all__ = [
    "AttentionModel",
    "AttentionTrace",
    "Decoder",
    "DecoderBlock",
    "EncoderDecoder",
    "EncoderDecoderConfig",
    "EncoderDecoderModel",
    "EncoderDecoderOutput",
    "FeedForward",
    "Generation",
    "HeadworkError",
    "LayerNorm",
    "Mask",
    "MultiHeadAttention",
    "NotDownloaded",
    "RMSNorm",
    "Tokens",
    "Traces",
    "Transformer",
    "TransformerBlock",
    "TransformerConfig",
    "TransformerOutput",
    "attention_entropy",
    "generate",
    "load",
    "load_one_part",
    "parse_mask",
    "scaled_dot_product_attention",
    "sinusoidal_positions",
]
