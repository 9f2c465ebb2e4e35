"""Sentences that claim nothing: refusals, small talk, questions to the user, offers of help.

Rules of thumb in English (greetings and thanks in some more languages), made to miss rather than to
excuse. A sentence is read as words and must be a chain of the phrases below from its first word to
its last, so "I'm sorry, but the fee is $30" still makes its claim. No phrase has a free place: what
a document could be about has no room in one, and "the documents do not mention refunds" is a
claim about the documents.
"""

from __future__ import annotations

import re

from .sentences import body_start

# How phrases are written: a/b is one of two words, (a b) may be left out, [a b | c] is one of two
# word groups, {name} stands for a part.
_PARTS = {
    "this": "this/that/it",
    "question": "[this/that/the/your (specific/particular) question/query/request | {this}]",
    "more": "(any/some/the) (more/further/other/additional/specific)",
    "documents": "(the/this/that/these/those/any/your/my) (given/provided/available/retrieved) "
    "(context/search) context/passage/passages/document/documents/text/texts/information/source"
    "/sources/excerpt/excerpts/article/articles/data/content/results "
    "(given/provided/above/available/supplied/retrieved | you gave/provided | i have)",
    "from": "[based (only/solely) on | according to | from/in/within/with/using/given] {documents}",
    "answer": "[answer/address ({question}) | help (you) with {question} | know/say/tell/confirm "
    "({this}) | determine (the answer) | give/provide (you) (with) an/the (complete/definitive) "
    "answer (to {question}) | be sure/certain]",
    "information": "[an answer | (the/any) (enough/sufficient/relevant/necessary) "
    "information/details/context/data] (to {answer})",
    "help": "{more} question/questions/help/information/details/assistance/support",
    "trouble": "the/any confusion/inconvenience/trouble/delay",
    "can not": "[can/could not | (am/are/was) not able to | (am/are/was) unable to]",
    "offer": "[i/we can/will | i/we would be happy/glad to | i/we am/are happy/glad/here to] "
    "[help/assist (you) (with {question}) | look into {question} (for you)]",
}
_PHRASES = (
    # What joins the others.
    "and/but/so/that/however/please/also/!",
    # Refusals are about the speaker, the question and the documents, and nothing else.
    "(i/we am/are) (very/so/really) sorry/afraid (about/for {this} | for {trouble})",
    "i/we (sincerely) apologize/apologise (for {trouble})",
    "unfortunately",
    "[at this time | at the moment | right now | with certainty | for sure | as an ai (assistant)]",
    "{from}",
    "i/we do not know (the answer (to {question}))",
    "i/we am/are not sure/certain",
    "i/we [do not | {can not}] have/find/see {information} (about/on {this})",
    "i/we do not have access to {this}",
    "(i/we) {can not} {answer}",
    "{documents} does/do/did not [say/tell | specify/state/mention/cover ({this}) | answer "
    "{question} | provide/contain/give/include/have {information} (about/on {this})]",
    "{documents} is/are [not enough/sufficient | insufficient] to {answer}",
    "{question} can not be answered/determined",
    "(the answer | {this}) (is/was) not mentioned/specified/stated ({from})",
    "(the answer | {this}) (is/was) not given/provided/available {from}",
    "the answer is/was not given/provided",
    "there is/was [no | not enough | insufficient] (relevant) information/answer (given/provided"
    "/available) (about/on {this}) (to {answer})",
    "no answer",
    # Small talk, and announcements of an answer that is yet to come.
    "hi/hello/hey/dear/greetings/welcome (there/all/everyone/again)",
    "good morning/afternoon/evening/day",
    "hola/bonjour/hallo/ciao/olá/merhaba/你好/您好/こんにちは/안녕하세요/привет/здравствуйте/مرحبا",
    "gracias/merci/danke/grazie/obrigado/obrigada/teşekkürler/谢谢/ありがとう/감사합니다/спасибо/شكرا",
    "[goodbye/bye | take care | have a great/good/nice day/evening]",
    "sure/ok/okay/alright/great/perfect/understood",
    "[certainly/absolutely/definitely | of course] [! | {offer}]",
    "(that is a) great/good/excellent/interesting question",
    "thanks/thank (you) (so/very) (much) (for asking/waiting | for reaching out | for your "
    "question/patience/message/interest)",
    "you are (very/most) welcome",
    "[no problem | my pleasure]",
    "i/we (completely/fully) understand/appreciate your/the question/concern/frustration/situation",
    "i/we hope {this} helps (you)",
    "here you go/are",
    "here is/are the/a/my/some (brief/short/detailed) answer/response/summary/overview/list "
    "(to {question})",
    "(final) answer/response/summary/conclusion",
    # Questions to the user.
    "how are you (doing) (today)",
    "how/what (else) can/may i/we help/do/assist (you | for you) (with) (today)",
    "is there anything else (i/we can help/do/assist (you | for you) (with)) (you need | you would "
    "like to know) (today)",
    "would/do you like/want/need (me) (to) (know/explain/share) {more} (information/help/details)",
    "do you have {more} questions",
    "what/which would you like to know",
    "(can/could/would you) (please) provide/share/give (me/us) (with) {more} "
    "information/details/context",
    "(can/could/would you) (please) clarify/rephrase/specify ({question})",
    # Offers.
    "{offer}",
    "[let me/us know | feel free to ask/contact/message (me/us) | feel free to reach out | do not "
    "hesitate to ask/contact (me/us) | do not hesitate to reach out]",
    "if you have/need/want/like/would (like) [anything else | {help}]",
    "for {help}",
    "[contact/call/visit | reach out to] [us | a/our/the/your (customer/local/technical) "
    "(support/service) support/service/team/branch/agent]",
)
_NOTATION = re.compile(r"\{([\w ]+)\}|([()\[\]|])|([\w/!]+)")


def _compile(phrase: str) -> str:
    """Turn a phrase into a regular expression over words that each end in one space."""

    def element(match: re.Match[str]) -> str:
        part, mark, word = match.groups()
        if part:
            return f"(?:{_compile(_PARTS[part])})"
        if mark:
            return {"(": "(?:", ")": ")?", "[": "(?:", "]": ")", "|": "|"}[mark]
        return f"(?:{word.replace('/', '|')}) "

    return "".join(element(match) for match in _NOTATION.finditer(phrase))


# The longest first, and each taken for good: a chain is read in one go, with no way back.
_CHAIN = re.compile(
    f"(?>{'|'.join(_compile(phrase) for phrase in sorted(_PHRASES, key=len, reverse=True))})+"
)
_LONGEST = 300  # characters; nothing longer claims nothing
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|!")
_SPELLED_OUT = (
    (re.compile(r"\bcan(?:not|'t)\b"), "can not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"'m\b"), " am"),
    (re.compile(r"'re\b"), " are"),
    (re.compile(r"'ll\b"), " will"),
    (re.compile(r"'d\b"), " would"),
    (re.compile(r"\b(here|that|there|it)'s\b"), r"\1 is"),
)


def claims_nothing(sentence: str) -> bool:
    """Return whether the sentence holds nothing that a document could support or contradict."""
    bare = sentence[body_start(sentence) :].strip()
    if not any(character.isalnum() for character in bare):
        return True
    if len(bare) > _LONGEST:
        return False
    bare = bare.lower().replace("’", "'")
    for short, long in _SPELLED_OUT:
        bare = short.sub(long, bare)
    words = "".join(f"{word} " for word in _WORD.findall(bare))
    return _CHAIN.fullmatch(words) is not None
