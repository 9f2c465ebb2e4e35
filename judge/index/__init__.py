"""An index of long documents: built once, so that each claim is read with what matches it."""
