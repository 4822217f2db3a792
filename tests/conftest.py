"""Settings of every test: one torch thread, and hypothesis without a clock, since machines are shared."""

import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("steady", deadline=None, derandomize=True, max_examples=60)
settings.load_profile("steady")
