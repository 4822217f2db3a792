"""The page Attention: the sentence, one head large, all heads at once, and the tabs below."""
