import pytest
from tokenizers import Tokenizer, models, processors

from moonlynx.judge.judges.luna.inputs import Specials, find_specials


def tokenizer(*tokens):
    return Tokenizer(models.WordLevel({token: i for i, token in enumerate(tokens)}, "[UNK]"))


def test_special_tokens_are_found_by_name_or_as_the_tokenizer_sets_them():
    assert find_specials(tokenizer("[UNK]", "[SEP]", "[CLS]")) == Specials(cls=2, sep=1)
    assert find_specials(tokenizer("[UNK]", "<s>", "</s>")) == Specials(cls=1, sep=2)
    with pytest.raises(ValueError, match="neither"):
        find_specials(tokenizer("[UNK]", "<s>"))
    both = tokenizer("[UNK]", "[CLS]", "[SEP]", "<s>", "</s>")
    both.post_processor = processors.RobertaProcessing(("</s>", 4), ("<s>", 3))
    assert find_specials(both) == Specials(cls=3, sep=4)
