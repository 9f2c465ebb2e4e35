"""moonlynx: an open hallucination judge.

Given a question, the documents that were retrieved and the answer a model wrote, it says whether the
answer is supported, where it is not, and why.
"""

from ._version import __version__
