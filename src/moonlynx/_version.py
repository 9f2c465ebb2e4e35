"""The version, apart, so that the build can read it without importing the package."""

__version__ = "0.10.0"
