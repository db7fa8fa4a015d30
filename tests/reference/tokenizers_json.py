"""Tokenizers of the kinds that ship with networks, small, and the tokens that Hugging Face's tokenizers and SentencePiece's
library find with them.

  tokenizers_json.py --store tests/data/tokenizers     makes the cases of tests/data/test-tokenizer.c
"""

import argparse
import base64
import io
import json
import os

import sentencepiece
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

CORPUS = ["The quick brown fox jumps over the lazy dog, and then it doesn't move for 25 days.",
          "Für Größe und Höhe gibt es Maße; naïve café, déjà vu.", "lower lowest newer newest wider widest low new wide",
          "def f(x):\n    return x ** 2 + 3 * x - 1\n", "2024-11-30 12:45, 3.14159 and 1,000,000 units"] * 20
TEXTS = ["The lowest fox doesn't jump.", "  two  spaces and a tab\there \n\nnew lines\n", "Größe naïve café DÉJÀ İstanbul",
         "漢字 and kana かな, emoji 🦊!", "x=3.14159;y=1,000", "", " ", "unknownwordsareherezzz", "<s>special</s> and <mask> tokens <s>",
         "a\u0301bc \ufb01ne \u2460 \u3000wide", "it's we'll THEY'RE", "(brackets) [and] {braces} -- dashes…"]
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
CLIP = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
SPECIAL = ["<unk>", "<s>", "</s>", AddedToken("<mask>", lstrip=True)]
BYTES = pre_tokenizers.ByteLevel.alphabet()


def trained(model, trainer, normalizer=None, splitter=None, decoder=None):
    tokenizer = Tokenizer(model)
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    if splitter is not None:
        tokenizer.pre_tokenizer = splitter
    if decoder is not None:
        tokenizer.decoder = decoder
    tokenizer.train_from_iterator(CORPUS, trainer)
    return json.loads(tokenizer.to_str())


def changed(tokenizer, **members):
    tokenizer["model"].update(members)
    return tokenizer


def bpe(n=420, **options):
    return trainers.BpeTrainer(vocab_size=n, show_progress=False, special_tokens=SPECIAL, **options)


def llama2():
    """SentencePiece's byte pairs as they are converted: no splitter, bytes for characters that are no token."""
    tokenizer = trained(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True),
                        trainers.BpeTrainer(vocab_size=420, show_progress=False, special_tokens=SPECIAL
                                            + [f"<0x{b:02X}>" for b in range(256)]),
                        normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]))
    tokenizer["added_tokens"] = [t for t in tokenizer["added_tokens"] if not t["content"].startswith("<0x")]
    return tokenizer


def ties():
    """Tokens whose scores are the number of their letters, so that all ways to segment a text are equally good."""
    letters = sorted(set("".join(TEXTS)) - {" "})
    pieces = sorted({text[i:i + n] for text in TEXTS[5:8] for n in (2, 3) for i in range(len(text) - n + 1)})
    vocabulary = [("<unk>", 0.0)] + [(piece, -0.5 * len(piece)) for piece in letters + pieces]
    return json.loads(Tokenizer(models.Unigram(vocabulary, 0, False)).to_str())


def cases():
    split = pre_tokenizers.Split
    unigram = trainers.UnigramTrainer(vocab_size=150, show_progress=False, special_tokens=SPECIAL, unk_token="<unk>")
    yield "gpt2", trained(models.BPE(), bpe(initial_alphabet=BYTES), splitter=pre_tokenizers.ByteLevel(add_prefix_space=False))
    yield "roberta", trained(models.BPE(), bpe(initial_alphabet=BYTES), splitter=pre_tokenizers.ByteLevel(add_prefix_space=True))
    yield "llama3", changed(trained(models.BPE(), bpe(initial_alphabet=BYTES), splitter=pre_tokenizers.Sequence([
        split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])), ignore_merges=True)
    yield "deepseek", trained(models.BPE(), bpe(initial_alphabet=BYTES), splitter=pre_tokenizers.Sequence([
        split(Regex(r"\p{N}{1,3}"), "isolated"), split(Regex("[一-龥぀-ゟ゠-ヿ]+"), "isolated"), pre_tokenizers.Digits(True),
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]))
    yield "llama2", llama2()
    yield "bert", trained(models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer(
        vocab_size=260, show_progress=False, special_tokens=["[UNK]", "[CLS]"] + SPECIAL), normalizers.BertNormalizer(lowercase=True),
        pre_tokenizers.BertPreTokenizer(), decoders.WordPiece())
    yield "bert-cased", trained(models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer(
        vocab_size=260, show_progress=False, special_tokens=["[UNK]"]), normalizers.BertNormalizer(lowercase=False),
        pre_tokenizers.BertPreTokenizer(), decoders.WordPiece())
    yield "t5", trained(models.Unigram(), unigram, normalizers.NFKC(), pre_tokenizers.Metaspace(), decoders.Metaspace())
    yield "albert", trained(models.Unigram(), unigram, normalizers.Sequence([
        normalizers.Replace("``", '"'), normalizers.NFKD(), normalizers.StripAccents(), normalizers.Lowercase(),
        normalizers.Replace(Regex(" {2,}"), " "), normalizers.Strip()]), pre_tokenizers.Metaspace(prepend_scheme="first"))
    yield "ties", ties()
    yield "clip", trained(models.BPE(end_of_word_suffix="</w>", unk_token="<unk>"), bpe(end_of_word_suffix="</w>", initial_alphabet=BYTES),
                          normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]),
                          pre_tokenizers.Sequence([split(Regex(CLIP), "removed", invert=True),
                                                   pre_tokenizers.ByteLevel(add_prefix_space=False)]))
    yield "words", trained(models.WordLevel(unk_token="<unk>"), trainers.WordLevelTrainer(
        show_progress=False, special_tokens=["<unk>"]), splitter=pre_tokenizers.Whitespace())
    yield "merged", trained(models.BPE(unk_token="<unk>"), trainers.BpeTrainer(vocab_size=200, show_progress=False, special_tokens=["<unk>"],
                                                                               continuing_subword_prefix="##"),
                            splitter=pre_tokenizers.Sequence([split(" ", "merged_with_previous"), split("-", "merged_with_next"),
                                                              pre_tokenizers.CharDelimiterSplit(","), pre_tokenizers.WhitespaceSplit()]))


def sentence_piece(kind, rule):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(CORPUS), model_writer=model, vocab_size=140, model_type=kind,
                                             normalization_rule_name=rule, hard_vocab_limit=False, minloglevel=2,
                                             byte_fallback=False)
    return model.getvalue()


def store(folder):
    os.makedirs(folder, exist_ok=True)
    for name, tokenizer in cases():
        oracle = Tokenizer.from_str(json.dumps(tokenizer))
        texts = [{"text": t, "ids": oracle.encode(t, add_special_tokens=False).ids} for t in TEXTS]
        write(folder, name, {"tokenizer": tokenizer, "size": max(oracle.get_vocab().values()) + 1, "texts": texts})
    for kind in ("unigram", "bpe"):
        model = sentence_piece(kind, "identity")
        oracle = sentencepiece.SentencePieceProcessor(model_proto=model)
        write(folder, "sentencepiece-" + kind, {"model": base64.b64encode(model).decode(), "size": oracle.get_piece_size(),
                                                "texts": [{"text": t, "ids": oracle.encode(t)} for t in TEXTS]})


def write(folder, name, case):
    with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
        json.dump(case, file, ensure_ascii=False, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", metavar="FOLDER", required=True)
    store(parser.parse_args().store)
