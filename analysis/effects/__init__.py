"""What a head does to the prediction: heads switched off, what they write, and what is patched in from another run.

questions: a prompt with a right and a wrong answer. effects: every head off in turn. direct: what each part writes
towards the answer. joint: several heads off. patching: parts of another run. states: models that predict nothing.
"""
