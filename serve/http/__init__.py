"""What surrounds the routes: middleware, and the one form of errors."""

from moonlynx.judge.backends.base import MissingExtra

try:
    import fastapi  # noqa: F401
    import prometheus_client  # noqa: F401
    import uvicorn  # noqa: F401
except ImportError:
    raise MissingExtra("The server", "serve") from None
