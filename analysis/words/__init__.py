"""From pieces of tokens to words: units, spans, Chinese words, words that share a piece."""
