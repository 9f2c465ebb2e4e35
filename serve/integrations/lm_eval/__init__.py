"""HaluBench as a task of lm-evaluation-harness: how well a model judges, asked as Lynx is.

lm_eval --include_path "$(python -m moonlynx.serve.integrations.lm_eval)" --tasks halubench …
"""
