"""Label a metric's inputs by the vote of several chat models, and rewrite open sets to fit it.

Goel et al., "Luna-2" (2025), section 3.2: where people cannot label as many rows as training takes,
the label is what most of an ensemble of large models say; and examples of open sets are rewritten
by a model to align with the metric's definition.
"""
