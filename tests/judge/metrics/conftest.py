from ...one_thread import one_thread  # noqa: F401 - a fixture of all tests here
