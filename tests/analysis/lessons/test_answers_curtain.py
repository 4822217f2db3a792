"""The curtain: which row stays, and that a row's weights are those of the model under the mask of that moment."""

import numpy as np

from analysis.lessons import ANSWERS, setup_of
from analysis.lessons.lesson import Given, Words
from model import Mask
from tests.models import load

TEXT = "The cat sat down because it was tired."


def test_the_last_row_stays_and_a_closed_curtain_is_the_models_causal_mask():
    setup = setup_of(Given(Words(TEXT, TEXT), Words("minilm", "minilm"), "bidirectional"), "en")
    found = ANSWERS["row_that_stays"](setup, head=2)
    n = len(found.labels)
    assert found.right == n - 1 and found.said["token"] == "[SEP]" and found.said["first_changes"] == str(n - 1)
    scores = found.shown.scores

    def row(i: int, edge: int) -> np.ndarray:
        raised = np.exp(scores[i, : max(i, edge) + 1])
        return np.pad(raised / raised.sum(), (0, n - max(i, edge) - 1))

    model = load("minilm")
    for edge, mask in ((n - 1, Mask.bidirectional()), (0, Mask.causal())):
        drawn = np.stack([row(i, edge) for i in range(n)])
        # float32 scores of two ways to multiply
        np.testing.assert_allclose(drawn, model.trace(TEXT, mask).attention[0, 1], atol=2e-5)
