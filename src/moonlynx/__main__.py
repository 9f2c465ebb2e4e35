"""`python -m moonlynx`."""

from .cli import main

main()
