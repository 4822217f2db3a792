"""The page that phones open in a class: the question, a guess, and after the reveal the answer."""
