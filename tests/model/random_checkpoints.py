"""Small random checkpoints, written by transformers' own save_pretrained."""

import torch


def save_random(config, kind, folder, dtype=None):
    """Writes a random model of transformers' class `kind` and returns it in eval mode with eager attention."""
    torch.manual_seed(0)
    config._attn_implementation = "eager"
    model = kind(config).eval()
    with torch.no_grad():  # fresh biases and norms are 0 and 1: give every tensor something to get wrong
        for parameter in model.parameters():
            if parameter.dim() == 1:
                parameter.add_(torch.randn_like(parameter) * 0.1)
    (model.to(dtype) if dtype is not None else model).save_pretrained(folder)
    return model
