#!/bin/sh
# A list of byte-pair merges that names one pair twice, as concatenated lists do. One would guess that the first line
# counts, as merges are made in the order of the file. Hugging Face's tokenizers 0.23.3 takes the last line's rank, and
# merges one place at a time: once a merge makes a pair of a lower rank, that pair goes first, although the pair before
# it occurs again further on. GPT-2's own algorithm, which merges all places of a pair at once, makes other tokens of
# the same list. A reader of merges.txt meets it.
# Source: measured with the pinned package; needs python3 with venv.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q tokenizers==0.23.3
"$folder/venv/bin/python" - <<'P'
import sys
from tokenizers import Tokenizer, models

def tokens(merges, text):
    vocab = {c: i for i, c in enumerate("abc")}
    for a, b in merges:
        vocab.setdefault(a + b, len(vocab))
    return Tokenizer(models.BPE(vocab=vocab, merges=merges)).encode(text).tokens

def at_once(merges, text):
    rank = {pair: i for i, pair in enumerate(merges)}  # a later line replaces an earlier one
    word = list(text)
    while True:
        pair = min(zip(word, word[1:]), key=lambda p: rank.get(p, 1e9), default=None)
        if pair not in rank:
            return word
        out, i = [], 0
        while i < len(word):
            if tuple(word[i:i + 2]) == pair:
                out.append("".join(pair))
                i += 2
            else:
                out.append(word[i])
                i += 1
        word = out

once = [("a", "b"), ("ab", "a")]
twice = once + [("a", "b")]
print("one line:      ", once, "->", tokens(once, "ababab"))
print("pair repeated: ", twice, "->", tokens(twice, "ababab"))
print("all at once:   ", twice, "->", at_once(twice, "ababab"))
good = tokens(once, "ababab") == ["ab", "ab", "ab"] and tokens(twice, "ababab") == ["aba", "b", "ab"] \
    and at_once(twice, "ababab") == ["ab", "ab", "ab"]
print("as described" if good else "NOT as described")
sys.exit(not good)
P
