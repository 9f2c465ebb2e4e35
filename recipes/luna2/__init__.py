"""Luna-2: one head per metric, on a shared small decoder or on the encoder of luna."""
