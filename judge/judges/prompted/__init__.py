"""The judges of the papers' tables: prompts to a chat model, and models of entailment."""
