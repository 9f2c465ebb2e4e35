"""The API's routes, a module each."""
