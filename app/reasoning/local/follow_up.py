"""Understanding a question from the conversation before it: “còn nhân viên thử việc thì sao?”."""

import re
from collections.abc import Sequence
from itertools import takewhile

from app.domain.tasks import Message
from app.reasoning.local.chitchat import is_remark
from app.reasoning.local.intents import sub_queries_of
from app.reasoning.local.terms import Part, stemmed
from app.reasoning.local.wording import alternatives, lower_first, spelt_out, tidy, word_list
from app.text.language import fold, guess_language, normalise

_REMEMBERED = 6
"""Earlier questions that are looked at."""
_WHAT_ABOUT = re.compile(
    r"^(?:(?:thế|the|vậy|vay|à|ok|dạ|and|so|but|then)[,\s]+)*"
    r"(?:còn|con|what about|how about|what if it is|and what about|what of)\s+"
    r"(?P<topic>.+?)(?:\s+(?:(?:thì|thi) (?:sao|thế nào|the nao)|ra sao|thế nào|the nao|sao))?\s*[?!.]*$",
    re.IGNORECASE,
)
_ENDS_THI_SAO = re.compile(r"^(?P<topic>.+?)\s+(?:thì sao|thi sao)\s*[?!.]*$", re.IGNORECASE)
_AND = re.compile(r"^(?:and|và|va|còn|con|thế|the|vậy|vay|so|but|or|hoặc)[,\s]+", re.IGNORECASE)
_PREPOSITION = re.compile(rf"^(?:{alternatives('follow_up.preposition')})\b", re.IGNORECASE)
_PRONOUN = re.compile(rf"\b(?:{alternatives('follow_up.pronoun')})\b", re.IGNORECASE)
_ADDED = re.compile(r", (?:đối với|for) [^,?]+\?$")
_FREE_WORDS, _FREE_WHEN_OPENED = 1.4, {"vi": 2.3, "en": 1.8}
"""A question naming less than this leans on the one before it; after “thế”, “còn”, “and” sooner."""
_OWN_SUBJECT = re.compile(
    rf"^(?:{alternatives('follow_up.own_subject')})\b|\b(?:does|do|is|are|has|have|can) (?:the|our) company\b",
    re.IGNORECASE,
)
_LONGEST_FRAGMENT = 5
_HEAD_WORDS = 2
_ANY_NUMBER = "0"
_PROPERTY = 0.5
_BOUNDARIES = word_list("follow_up.boundary")
_ROLE = re.compile(
    rf"\b(?:(?!{alternatives('follow_up.not_a_role')})\w+[- ])?(?:{alternatives('follow_up.role')})\b(?: on \w+)?",
    re.IGNORECASE,
)
_NAME = re.compile(r"[A-ZĐ][\wÀ-ỹ.]*(?:\s[A-ZĐ][\wÀ-ỹ.]*)*")
_TAIL_EN = re.compile(
    r"\s(?P<place>on|in|at|during|after|before|within|under|for)\s"
    r"(?:(?!on |in |at |during |after |before |for )[\w-]+\s?){1,4}$",
    re.IGNORECASE,
)


def standing_question(history: Sequence[Message]) -> str:
    """The last question of the history made self-contained; empty when nothing was asked yet."""
    last = [message for message in history if not message.is_recalled]
    recalled = [message for message in history if message.is_recalled]
    return _standing(last) or _standing(recalled)


def _standing(history: Sequence[Message]) -> str:
    standing = ""
    for message in [message for message in history if message.role == "user"][-_REMEMBERED:]:
        if message.meaning:
            standing = normalise(message.meaning)
            continue
        text = spelt_out(normalise(message.content))
        if is_remark(text):
            continue
        resolved = resolve(text, standing) if standing else None
        if resolved or Part.of(text).weight >= 1:
            standing = resolved or text
    return standing


def resolve(text: str, standing: str) -> str | None:
    """`text` with what it leaves out taken from the `standing` question; None when it leaves nothing out."""
    spelt = normalise(text)
    about = _topic_asked_about(spelt)
    if about is not None:
        return _applied_to(standing, about)
    opened = _AND.match(spelt)
    bare = _AND.sub("", spelt)
    own = Part.of(bare)
    if _leans_by_pronoun(spelt):
        return _leaning(bare, standing)
    if _OWN_SUBJECT.search(bare) and own.asks:
        return None
    is_fragment = _PREPOSITION.match(bare) and len(bare.split()) <= _LONGEST_FRAGMENT and bare.endswith("?")
    if not own.asks and (opened or is_fragment):
        return _applied_to(standing, bare.rstrip(" ?!."))
    says_little = own.weight < (_FREE_WHEN_OPENED[guess_language(spelt)] if opened else _FREE_WORDS)
    leans = (says_little and (opened or own.asks)) or (opened and _PREPOSITION.match(bare))
    return _leaning(bare, standing) if leans else None


def own_words(text: str, standing: str) -> str:
    """What a question that leans on the `standing` one asks by itself: “VPN?” of “còn VPN thì sao?”.

    Empty when it names nothing, or only varies the standing question: another group of people, number, place or time.
    """
    spelt = normalise(text)
    about = _topic_asked_about(spelt)
    bare = _AND.sub("", spelt) if about is None else about
    if _leans_by_pronoun(spelt) or _PREPOSITION.match(bare) or Part.of(bare).weight < _PROPERTY:
        return ""
    is_varied = any(vary(standing.rstrip("?"), bare.rstrip(" ?!."))[0] for vary in _VARIATIONS)
    return "" if is_varied else tidy(bare, question=True)


def _topic_asked_about(text: str) -> str | None:
    """X of “còn X thì sao?”, “what about X?”; None when the text asks something of its own."""
    mark = _WHAT_ABOUT.match(text) or _ENDS_THI_SAO.match(text)
    if mark is None:
        return None
    topic = _AND.sub("", mark["topic"]).strip(" ,")
    inner = Part.of(topic)
    return None if inner.asks and inner.weight >= _FREE_WORDS and not _ENDS_THI_SAO.match(text) else topic


def _applied_to(standing: str, topic: str) -> str:
    """The standing question asked about `topic`: in place of the phrase it parallels, else added to it."""
    question = _ADDED.sub("?", sub_queries_of(standing, guess_language(standing))[0])
    if Part.of(topic).asks and not _PREPOSITION.match(topic):
        return _leaning(topic, standing)
    for parallel in (*_VARIATIONS, _other_name):
        replaced, by = parallel(question.rstrip("?"), topic)
        if replaced:
            return tidy(question.replace(replaced, _cased(by, replaced), 1), question=True)
    joint = " " if _PREPOSITION.match(topic) else ", đối với " if guess_language(question) == "vi" else ", for "
    return tidy(f"{question.rstrip('?')}{joint}{topic}", question=True)


_Swap = tuple[str, str]
"""The words to be replaced (empty = none) and what takes their place."""


def _same_head(question: str, topic: str) -> _Swap:
    """“nhân viên chính thức” and “nhân viên thử việc”, “tầng 3” and “tầng 5”: phrases that begin alike."""
    bare = _PREPOSITION.sub("", topic).strip()
    words, meant = question.split(), [_plain(word) for word in bare.split()]
    is_numbered = meant[-1:] == [_ANY_NUMBER]
    head = meant if is_numbered else meant[:_HEAD_WORDS]
    for at in range(len(words)):
        if len(head) >= _HEAD_WORDS and [_plain(word) for word in words[at : at + len(head)]] == head:
            phrase = words[at : at + len(head)] if is_numbered else list(takewhile(_goes_on, words[at:]))
            if not Part.of(" ".join(phrase)).asks:
                return " ".join(phrase), bare
    return "", ""


def _goes_on(word: str) -> bool:
    return _plain(word) not in _BOUNDARIES


def _same_tail(question: str, topic: str) -> _Swap:
    """“unpaid leave” and “sick leave”: English phrases that end alike."""
    words, bare = question.split(), _PREPOSITION.sub("", topic).strip().split()
    if guess_language(question) == "vi" or len(bare) != _HEAD_WORDS:
        return "", ""
    places = [at for at, word in enumerate(words) if at and stemmed(word) == stemmed(bare[-1])]
    if len(places) != 1 or not Part.of(words[places[0] - 1]).weight:
        return "", ""
    return " ".join(words[places[0] - 1 : places[0] + 1]), " ".join(bare)


def _same_role(question: str, topic: str) -> _Swap:
    """“permanent staff” and “people on probation”: both name who is meant."""
    asked, meant = _ROLE.search(question), _ROLE.search(topic)
    return (asked[0], _PREPOSITION.sub("", topic).strip()) if asked and meant else ("", "")


def _other_name(question: str, topic: str) -> _Swap:
    """“London” and “Toronto”, “Hà Nội” and “TP.HCM”: the only name of the question gives way to another."""
    bare = _PREPOSITION.sub("", topic).strip()
    names = [mark[0] for mark in _NAME.finditer(question) if _is_name(mark)]
    is_other = bool(_NAME.fullmatch(bare)) and len(names) == 1 and stemmed(names[0]) != stemmed(bare)
    return (names[0], bare) if is_other else ("", "")


def _is_name(mark: re.Match[str]) -> bool:
    """Whether a capital means a name, not the beginning of the sentence or the English “I”."""
    words = [word for word in mark[0].split() if word != "I"]
    return bool(words[0 if mark.start() else 1 :])


def _same_place(question: str, topic: str) -> _Swap:
    """“on weekdays” and “on public holidays”, “during probation” and “after five years”: what stands last."""
    tail, other = _TAIL_EN.search(question), _TAIL_EN.fullmatch(f" {topic}")
    if not tail or not other or ("for" in (tail["place"], other["place"]) and tail["place"] != other["place"]):
        return "", ""
    return tail[0].strip(), topic


_VARIATIONS = (_same_head, _same_tail, _same_role, _same_place)
"""Ways in which a topic takes the place of another in the same question."""


def _plain(word: str) -> str:
    """A word for comparison; all numbers are alike."""
    bare = fold(word).lower().strip(",.?!")
    return _ANY_NUMBER if bare[:1].isdigit() else bare


def _cased(topic: str, replaced: str) -> str:
    return topic[0].upper() + topic[1:] if replaced[:1].isupper() else topic


def _leans_by_pronoun(text: str) -> bool:
    return bool(_PRONOUN.search(text)) and Part.of(_PRONOUN.sub("", text)).weight < 2 * _FREE_WORDS


def _leaning(text: str, standing: str) -> str:
    """A question that says too little, put behind the standing one."""
    head = re.split(r"\s+(?:thì|thi)\s+", text)[0]
    replaced, by = _other_name(standing, head) if _PREPOSITION.match(head) else ("", "")
    if replaced:
        return tidy(standing.replace(replaced, by, 1), question=True)
    leading = standing.partition(": ")[0].rstrip(" ?!.")
    if _leans_by_pronoun(leading):  # “how much does it cost?” names nothing to lean on
        return tidy(text, question=True)
    return tidy(f"{leading}: {lower_first(text)}", question=True)
