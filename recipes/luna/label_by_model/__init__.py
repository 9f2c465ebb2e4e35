"""Label answers as Luna's training data was labelled (section 4.2).

Chat models answer questions from documents; another one names, for each sentence of an answer, the
sentences of the documents that support it.
"""
