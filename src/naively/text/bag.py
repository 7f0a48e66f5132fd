"""A document as a bag of words: how often each term is in it, and nothing else."""

from __future__ import annotations

from collections import Counter
from typing import Any

from naively.text.analysis import Analysis


def bag_of_words(text: str, **options: Any) -> Counter[str]:
    r"""How often each word is in a text, as `TextNB` counts them.

    Lecture 2, "Bag of words approach": the order of the words is ignored. A word that is not there
    counts 0. Bags add up.

    Parameters
    ----------
    text : str
    options : `analyzer`, `ngram_range`, `lowercase`, `strip_accents`, `stop_words` (a list),
        `token_pattern` and `tokenizer`, as of `TextNB`; by default words of two letters or more,
        in lower case.

    Returns
    -------
    Counter of the terms, sorted.

    Raises
    ------
    TypeError : if the text is no str, or an option is none of these.
    ValueError : saying which option is wrong.

    Examples
    --------
    >>> from naively import bag_of_words
    >>> bag = bag_of_words("All about the company. All you want to know about it.")
    >>> bag["about"], bag["all"], bag["company"], bag["aardvark"]
    (2, 2, 1, 0)
    >>> bag == bag_of_words("it to the know want you company, about ABOUT ... all ALL")
    True
    """
    if not isinstance(text, str):
        raise TypeError(
            f"text must be one document, a str, not {type(text).__name__}; "
            "TextNB takes a list of them"
        )
    return Counter(sorted(Analysis(**options).terms(text)))
