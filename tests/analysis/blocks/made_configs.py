"""Configs of every shape, for hypothesis."""

from hypothesis import strategies as st

from model import TransformerConfig

configs = st.builds(
    lambda key_heads, group, d_k, head_width, **rest: TransformerConfig(
        d_model=key_heads * group * d_k,
        num_heads=key_heads * group,
        num_key_heads=key_heads if group > 1 else 0,
        head_width=head_width,
        **rest,
    ),
    key_heads=st.integers(1, 3),
    group=st.integers(1, 3),
    d_k=st.integers(1, 9),
    head_width=st.integers(0, 9),
    vocab_size=st.integers(1, 300),
    num_layers=st.integers(1, 4),
    d_ff=st.integers(0, 70),
    max_tokens=st.integers(1, 60),
    n_token_types=st.integers(0, 3),
    norm=st.sampled_from(["pre", "post", "none"]),
    norm_kind=st.sampled_from(["layer", "rms"]),
    activation=st.sampled_from(["relu", "gelu", "gelu_tanh", "swiglu"]),
    positions=st.sampled_from(["learned", "sinusoidal", "none"]),
    position_offset=st.integers(0, 2),
    embedding_norm=st.booleans(),
    final_norm=st.booleans(),
    bias=st.booleans(),
    attention_bias=st.sampled_from(["all", "qkv", "none", None]),
    qk_norm=st.booleans(),
    output=st.sampled_from(["none", "tied", "own"]),
)
