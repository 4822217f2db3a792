"""How long the values of an encoder–decoder are: of the encoder, of the decoder, and of the source it looks back at."""

import numpy as np
import pytest
import torch

from analysis.maps.readings import norms_of_parts
from model import load
from tests.model.random_pairs import bart, t5

SOURCE, TARGET = "a cat", "un chat"


@pytest.fixture(scope="module", params=[bart, t5], ids=["bart", "t5"])  # post-LN, pre-LN
def model(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pair")
    request.param(folder)
    return load(folder)


def by_hand(attention, x, head):
    """(N,), ‖(x_j W_V + b_V) W_O‖ of one head, from its own rows and columns of the two matrices."""
    own = slice(head * attention.d_k, (head + 1) * attention.d_k)
    values = attention.W_v(x)[0, :, own]  # (N, d_k)
    return (values @ attention.W_o.weight[:, own].T).norm(dim=-1)


@torch.inference_mode()
def test_norms_are_those_of_each_family_s_own_matrices_and_states(model):
    found = norms_of_parts(model, SOURCE, TARGET)
    *_, output = model.run(SOURCE, TARGET, record="hidden")
    encoder, decoder = model.transformer.encoder, model.transformer.decoder
    layer, head = 1, 2
    context = output.encoder.hidden
    states = {"encoder": output.encoder.hidden_states[layer], "decoder": output.decoder.hidden_states[layer]}
    for name, part in (("encoder", encoder), ("decoder", decoder)):
        block, x = part.blocks[layer], states[name]
        x = block.attention_norm(x) if block.norm == "pre" else x
        np.testing.assert_allclose(found[name][layer, head], by_hand(block.attention, x, head), rtol=1e-4)
    crossing = decoder.blocks[layer].cross_attention
    np.testing.assert_allclose(found["cross"][layer, head], by_hand(crossing, context, head), rtol=1e-4)
    assert found["cross"].shape == (len(decoder.blocks), 4, context.size(1))


def test_a_source_that_is_padded_has_norms_for_its_padding_too(model):
    n = len(model.source_tokens(SOURCE))
    assert norms_of_parts(model, SOURCE, TARGET, source_mask=f"padding:{n + 3}")["cross"].shape[-1] == n + 3
