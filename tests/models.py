"""Models that tests share. They are read only; who changes one loads its own with `model.load`."""

import functools

import model

load = functools.cache(model.load)
