"""The tables of trainings: by hand, and against the training itself."""

import numpy as np
import pandas as pd
import pytest

from analysis.evidence.trainings import curves_table, heads_table, source
from analysis.maps.export import csv_bytes, read_csv
from model.training import Settings, Training


@pytest.fixture(scope="module")
def trainings():
    made = [Training(Settings("neighbours", heads=heads, steps=20)) for heads in (1, 2)]
    for training in made:
        training.step(20)
    return made


def test_curves_have_a_row_a_checkpoint_and_network(trainings):
    table = curves_table(trainings)
    assert len(table) == sum(len(training.curve) for training in trainings)
    assert set(table["heads"]) == {1, 2} and "accuracy -2" in table.columns
    last = table[table["heads"] == 2].iloc[-1]
    point = trainings[1].curve[-1]
    assert (last["step"], last["loss"], last["accuracy"]) == (20, point.loss, point.accuracy)
    assert last["accuracy +1"] == point.by_relation[2]


def test_heads_have_a_row_a_checkpoint_and_head(trainings):
    table = heads_table(trainings[1:])
    frames = trainings[1].frames
    assert len(table) == 2 * len(frames) and list(table["head"][:2]) == ["1-1", "1-2"]
    row = table.iloc[-1]
    assert row["entropy"] == frames[-1].entropy[0, 1] and row["hit -1"] == frames[-1].hit[0, 1, 1]
    np.testing.assert_allclose(table.groupby("step")["share +2"].max(), [f.share[..., 3].max() for f in frames])


def test_a_file_says_where_it_comes_from_and_reads_back(trainings):
    table, about = read_csv(csv_bytes(curves_table(trainings), source(trainings[1])))
    pd.testing.assert_frame_equal(table, curves_table(trainings), check_exact=False, rtol=1e-6)
    assert about["task"] == "neighbours" and about["block"] == "attention only" and about["seed"] == "0"
    assert about["parameters"] == str(trainings[1].n_parameters) == str(trainings[0].n_parameters)


def test_a_relation_that_is_only_looked_for_has_no_accuracy_column():
    training = Training(Settings("induction", heads=1, layers=2, mask="causal", steps=1))
    assert "accuracy previous" not in curves_table([training]) and "share previous" in heads_table([training])
