"""The frameworks are loaded where the fast tier is not run: some of them bring torch and pandas."""

_FRAMEWORKS = (
    *("deepeval", "haystack", "langchain", "langfuse", "langgraph", "litellm", "llama_index"),
    *("lm_eval", "mlflow", "openai_agents", "phoenix", "promptfoo", "ragas"),
)


def pytest_ignore_collect(collection_path, config):
    framework = collection_path.stem.removeprefix("test_") in _FRAMEWORKS
    return True if framework and "not heavy" in config.getoption("markexpr") else None
