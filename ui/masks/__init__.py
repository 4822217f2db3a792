"""The page Masks: two masks side by side, the steps of the softmax, what a causal mask hides, padding, a gallery."""
