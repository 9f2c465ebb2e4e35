"""Lynx and Luna-2 behind vLLM: deployments as YAML, a launcher, and vLLM's batch files."""
