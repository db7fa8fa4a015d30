#!/bin/sh
# Half-width katakana with a voiced mark (ｶﾞ, as older Japanese systems and bank files write it) in a text for a network
# with a SentencePiece vocabulary (T5, XLM-RoBERTa, mBART). One would guess that tokenizer.json normalises as the model
# from which it was converted, because it carries the model's own table of replacements ("Precompiled"). SentencePiece
# 0.2.3 applies the longest entry, ｶﾞ → ガ. Hugging Face's tokenizers 0.23.3 looks up clusters of less than six bytes, and
# else single characters: ｶﾞ has six, so it becomes カ and a combining mark, for which vocabularies have other tokens.
# The fast and the slow tokenizer of one network so read different tokens. Who imports either form meets it.
# Source: measured with the pinned packages; needs python3 with venv.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q tokenizers==0.23.3 sentencepiece==0.2.3 protobuf==7.36.2
"$folder/venv/bin/python" - <<'P'
import io
import sys
import unicodedata

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import normalizers

file = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(["ガス ゲーム パン"] * 50), model_writer=file, vocab_size=30,
                                         hard_vocab_limit=False, normalization_rule_name="nmt_nfkc", minloglevel=2)
model = sentencepiece_model_pb2.ModelProto()
model.ParseFromString(file.getvalue())
slow = sentencepiece.SentencePieceProcessor(model_proto=file.getvalue())
fast = normalizers.Precompiled(model.normalizer_spec.precompiled_charsmap)
good = True
for text in ("ｶﾞｽ", "ﾊﾟﾝ", "ｹﾞｰﾑ"):
    a, b = slow.normalize(text).lstrip("▁"), fast.normalize_str(text)
    print(f"{text}: SentencePiece {a} ({len(a)} characters), tokenizers {b} ({len(b)})")
    good = good and len(b) == len(a) + 1 and unicodedata.normalize("NFC", b) == a
sys.exit(0 if good else 1)
P
echo "As described: the same table, two results; a combining mark stays apart in tokenizers."
