"""What a language model is fit for: the bundled seen questions put to it, and figures of what came of them.

`docs/local-models.md` tells what the figures mean and where the floor lies.
"""
