"""Files out: written whole or not at all, by one process at a time, resumed after a kill."""
