"""What the page Positions says: names, formulas and sources of the five ways."""

from typing import NamedTuple

HOW_TO_READ = (
    "Attention compares contents; by itself it doesn't know which token came first.\n"
    "- **Order lost and kept**: the sentence and a shuffled copy of it through the same weights. Without positions "
    "the outputs are the same vectors in another order, and each map is the same map with rows and columns moved.\n"
    "- **Five ways**: what each one adds, turns or subtracts, its formula, its source and the code that runs here.\n"
    "- **Longer than trained**: five small networks that differ in nothing else, trained on 12 tokens, asked on more.\n"
    "- **What heads do with it**: the mean weight by offset, beside what positions alone would give."
)


class Way(NamedTuple):
    """One way to give places.

    Attributes:
        name: in English.
        formulas: in TeX, a line each.
        says: what it does, in a sentence or two.
        source: of the idea.
        acts: where it acts.
        tells: absolute or relative places.
        beyond: what happens after the longest sentence of the training.
        code: names of excerpts (analysis.blocks.source).
    """

    name: str
    formulas: tuple[str, ...]
    says: str
    source: str
    acts: str
    tells: str
    beyond: str
    code: tuple[str, ...]


WAYS = {
    "sinusoidal": Way(
        "sinusoidal",
        (
            r"PE_{(p,\,2i)} = \sin\frac{p}{10000^{2i/d_{model}}}",
            r"PE_{(p,\,2i+1)} = \cos\frac{p}{10000^{2i/d_{model}}}",
        ),
        "Each place gets a fixed vector of sines and cosines, which is added to the token's vector. Turning each pair "
        "of columns by a fixed angle leads from PE(p) to PE(p + k), for every p.",
        "Vaswani et al. 2017, section 3.5",
        "embedding",
        "absolute",
        "sums never seen",
        ("sinusoids", "embed"),
    ),
    "learned": Way(
        "learned",
        (r"x_p = E_{token} + P_p, \qquad P \in \mathbb{R}^{N_{max} \times d_{model}}",),
        "Each place has a vector of its own, trained like a word's. Nothing ties neighbouring places together but what "
        "training found.",
        "Gehring et al. 2017, section 3.1; Devlin et al. 2019, section 3",
        "embedding",
        "absolute",
        "no row: cut",
        ("embed",),
    ),
    "rotary": Way(
        "rotary (RoPE)",
        (
            r"(R_{m\theta}\, q)^\top (R_{n\theta}\, k) = q^\top R_{(n-m)\theta}\, k",
            r"\theta_i = base^{-2i/d_k}",
        ),
        "Query and key are turned pair of columns by pair, by an angle that grows with the place. Their product then "
        "depends on the distance n − m alone.",
        "Su et al. 2021, section 3.2",
        "q and k",
        "relative",
        "angles never seen",
        ("rotate",),
    ),
    "alibi": Way(
        "ALiBi",
        (
            r"\mathrm{softmax}\left(\frac{q_i k_j^\top}{\sqrt{d_k}} - m_h \, |i - j|\right)",
            r"m_h = 2^{-8h/H}, \quad h = 1 \dots H",
        ),
        "Each head subtracts its slope times the distance from the scores: some heads look near, some far. Nothing is "
        "learned and nothing is added to the embedding.",
        "Press et al. 2022, section 3",
        "scores",
        "relative",
        "far keys fade",
        ("alibi", "bias"),
    ),
    "none": Way(
        "none",
        (
            r"\begin{gathered} \mathrm{Attention}(PQ,\, PK,\, PV) \\ "
            r"= P\;\mathrm{Attention}(Q,\, K,\, V) \end{gathered}",
        ),
        "Without positions attention treats tokens as a set: shuffled tokens give shuffled outputs. A causal mask "
        "tells order all the same: each token sees one key more than the one before it.",
        "Lee et al. 2019, section 3.1; Haviv et al. 2022",
        "—",
        "through a causal mask",
        "as before",
        (),
    ),
}
