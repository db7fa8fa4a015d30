#!/usr/bin/env python3
"""Checks the words of comments, names and texts against the glossary below.

test-words.py ROOT               the test, in TAP: a word that is never right fails, with the word to use
test-words.py --count            how often each word occurs, by box
test-words.py --list PATH…       each occurrence in these files or folders, also of words that may be right

A word that is never right (NEVER) fails in comments and strings of C, in documents, scripts, graphs and interface files.
A part of a name (NAMES: names are divided at underscores and capitals) fails in the identifiers of C. Words that may be
right (REVIEW) are only listed. What the table of STYLE calls wrong and is right in one place stands in words-allowed.txt:
path, words of the line, reason. A row there that fits nothing fails too.
"""

import collections
import os
import re
import subprocess
import sys

# The word, as a regular expression between word boundaries, and what is said instead.
NEVER = {
    # Of time and order; what is spatially behind something else is allowed.
    r'behind(?! (?:the|a|its|all|other|these|those|every) '
    r'(?:windows?|cards?|text|words|letters|picture|curves?|lines?|paper|grid|wires?|drawing|scenes|dialog|modal))': 'after',
    r'anew': 'again',
    r'whoever': 'name the caller or the observer',
    r'whosoever': 'name the caller or the observer',
    r'who asks?': 'the caller',
    r'nobody': 'no caller, no process, no user',
    r'so many': 'n, the number of',
    r'how many (?:of them )?they are': 'n, the number of',
    r'beside': 'next to, with, in addition to',
    r'(?:is|are|was|were|be) fed': 'inputs',
    r'what (?:it|they|is|are) (?:is |are )?given': 'inputs',
    r'mend(?:s|ed|ing)?': 'fix, quick fix',
    r'judg(?:e|es|ed|ing)': 'evaluates, computes the loss of',
    r'(?:knew|knows?) nothing of': 'staleness, does not know',
    r'laps?': 'timings',
    r'pills?': 'shape labels',
    r'cables?': 'wire bundles',
    r'go(?:es)? on with': 'resumes, continues',
    r'adopt(?:s|ed|ing|ion)?': 'load, copy',
    r'over runs': 'over iterations',
    r'in vain': 'without effect',
    r'heed(?:s|ed)?': 'follows, uses',
    r'kin': 'similar ones',
    r'(?:where|there|here)(?:of|in|upon|unto|to)(?<!therein)(?<!hereto)': 'name it',
}

# The same for what users read: strings of C, pages, graphs and interface files, but those of tests.
TEXTS = {
    r'(?<!there )(?:is|are) no (?!longer\b|more\b|less\b)\w+': 'is not a, are not',
    r', so that (?:it|they|this|these|steps) (?:cannot|can|do|does)': ', so it cannot',
    r'(?:numbers?|integers?|size|counts?) from [01]\b(?! (?:to|on|up)\b|[.…])': '0 or a positive number',
    r'of one\'s own': 'your own',
}

# Parts of names.
NAMES = {
    'told': 'reported, local', 'anew': 'again', 'whoever': 'caller', 'mend': 'fix', 'mends': 'fixes', 'mended': 'fixed',
    'judge': 'loss, metric', 'judges': 'losses, metrics', 'judged': 'evaluated', 'knew': 'staleness', 'lap': 'timing',
    'laps': 'timings', 'pill': 'shape label', 'pills': 'shape labels', 'cable': 'wire bundle', 'cables': 'wire bundles',
    'adopt': 'load, copy', 'adopted': 'loaded, copied', 'gives': 'returns, outputs', 'tells': 'reports',
    'asks': 'queries', 'nobody': 'none', 'beside': 'with', 'behind': 'after', 'slopes': 'derivative epilogues',
}

# These may be right in their plain sense.
REVIEW = {
    r'places?': 'positions, sequence axis; progress, cursor', r'room': 'memory budget, fits',
    r'looks?': 'snapshot, queries', r'looked': 'snapshot, queries', r'seen': 'gathered state', r'told': 'reported',
    r'tells?': 'reports, notifies', r'asks?': 'queries', r'gives?': 'returns, produces', r'answers?': 'returns',
    r'scores?': 'logits', r'shares?': 'shard, weights', r'narrow(?:er)?': '16-bit', r'wide(?:r)?': 'f32',
    r'slopes?': 'derivative epilogue', r'moves?': 'permute, slice, concatenate', r'lanes?': 'tracks (of wires)',
    r'course': 'history, training log', r'waits?': 'stalls', r'parts?': 'micro-batches', r'gathers?': 'accumulates',
    r'lies': 'is stored in', r'stands': 'is', r'takes? over': 'load, copy', r'whatever': 'name it',
    r'wherever': 'name it', r'whichever': 'name it', r'once more': 'again', r'fed': 'inputs', r'whose': 'of which',
    r'all the same': 'still', r'what is': 'name the subject', r'what it': 'name the subject', r'by itself': 'on its own',
    r'therein': 'in it', r'hereto': 'to this', r'said': 'reported, printed', r'says': 'reports, states',
}

# To be divided by another change, which brings their words too.
LATER = ()
# Files that earlier versions wrote, and translations.
OTHERS = ('tests/upgrade/20', 'data/po/')

C_FILES = ('.c', '.h', '.cu', '.cuh', '.inc')
READ_FILES = ('.md', '.xml', '.ui')
TEXT_FILES = ('.py', '.md', '.xml', '.ui', '.css', '.sh', '.rnc', '.build', '.txt', '.ini', '.in')
STRING_END = re.compile(r'"\s*"')
TOKEN = re.compile(r'''(?P<comment>/\*.*?\*/|//[^\n]*)|(?P<string>"(?:\\.|[^"\\\n])*"(?:\s*"(?:\\.|[^"\\\n])*")*)|'(?:\\.|[^'\\\n])*'
                       |(?P<name>[A-Za-z_]\w*)''', re.X | re.S)
WORD = re.compile(r'[A-Z]+(?![a-z])|[A-Z]?[a-z]+')

# Text of C, and the words that must be found in it.
SAMPLES = (
    ('/* Reads it anew. */', ['anew']),
    ('/* It goes\n * on with the rest. */', ['goes on with']),
    ('/* Drawn behind the cards, after the wires. */', []),
    ('/* Read behind a step. */', ['behind']),
    ('puts ("as nobody knows");', ['nobody']),
    ('int n_told, kin_of_x;', ['told']),
    ('int after; /* kinds */', []),
    ('fail ("“%s” is "\n      "no number");', ['is no number']),
    ('fail ("There is no number"); /* it is no error */', []),
    ('fail ("a number from 0"); fail ("a number from 0 to 9");', ['number from 0']),
)

Found = collections.namedtuple('Found', 'path line word instead text never')


def compiled(table):
    return [(re.compile(r'\b' + word + r'\b', re.I), word, instead) for word, instead in table.items()]


NEVER_RE, REVIEW_RE = compiled(NEVER), compiled(REVIEW)
TEXTS_RE = [(re.compile(re.sub(r'(?<!there) (?!\))', r'\\s+', word), re.I), word, instead) for word, instead in TEXTS.items()]
ANY_NEVER = re.compile(r'\b(?:' + '|'.join(NEVER) + r')\b', re.I)


def tracked(root):
    names = subprocess.run(['git', '-C', root, 'ls-files', '-z'], capture_output=True, text=True, check=True).stdout
    for name in names.split('\0'):
        if name.endswith(C_FILES + TEXT_FILES) and not name.startswith(OTHERS) and os.path.isfile(os.path.join(root, name)):
            yield name


def pieces(path, text):
    """The parts of a file that are checked: (offset, text, whether it is a name of C)."""
    if not path.endswith(C_FILES):
        yield 0, text, False
        return
    for match in TOKEN.finditer(text):
        if match.lastgroup is not None:
            yield match.start(), match.group(), match.lastgroup == 'name'


def line_of(text, offset):
    start = text.rfind('\n', 0, offset) + 1
    end = text.find('\n', offset)
    return text.count('\n', 0, offset) + 1, text[start:end if end >= 0 else len(text)].strip()


def look_through(root, path, review):
    try:
        with open(os.path.join(root, path), encoding='utf-8') as file:
            yield from find(path, file.read(), review)
    except UnicodeDecodeError:
        return


def find(path, text, review):
    for offset, piece, is_name in pieces(path, text):
        if is_name:
            for word in {w.lower() for w in WORD.findall(piece)} & NAMES.keys():
                number, line = line_of(text, offset)
                yield Found(path, number, word, NAMES[word], line, True)
            continue
        if not path.startswith('tests/') and (path.endswith(READ_FILES) or path.endswith(C_FILES) and piece.startswith('"')):
            # A literal of C may be divided into several.
            joined = STRING_END.sub(lambda match: ' ' * len(match.group()), piece)
            for regex, word, instead in TEXTS_RE:
                for match in regex.finditer(re.sub(r'\s', ' ', joined)):
                    number, line = line_of(text, offset + match.start())
                    yield Found(path, number, ' '.join(match.group().lower().split()), instead, line, True)
        # A phrase may be broken over two lines of a comment.
        plain = re.sub(r'\s(?=[\s*#])|(?<=\n)[ \t]*[*#]', ' ', piece).replace('\n', ' ')
        if len(plain) != len(piece):
            plain = piece.replace('\n', ' ')
        spaced = re.compile(r'\s+(?:[*#]\s+)?')
        if ANY_NEVER.search(plain) or ANY_NEVER.search(spaced.sub(' ', plain)) or review:
            tables = [(NEVER_RE, True)] + ([(REVIEW_RE, False)] if review else [])
            for table, never in tables:
                for regex, word, instead in table:
                    # Blanks of the pattern stand for any white space and a comment's asterisk.
                    loose = re.compile(regex.pattern.replace(' ', r'\s+(?:[*#]+\s+)?'), re.I) if ' ' in word else regex
                    for match in loose.finditer(piece):
                        number, line = line_of(text, offset + match.start())
                        yield Found(path, number, re.sub(r'\s+(?:[*#]+\s+)?', ' ', match.group()).lower(), instead, line, never)


def read_allowed(root):
    rows = []
    path = os.path.join(root, 'tests/arch/words-allowed.txt')
    if os.path.exists(path):
        with open(path, encoding='utf-8') as file:
            for line in file:
                if line.strip() and not line.startswith('#'):
                    where, words, reason = (part.strip() for part in line.split('|'))
                    rows.append((where, words, reason))
    return rows


def box_of(path):
    parts = path.split('/')
    return '/'.join(parts[:2]) if len(parts) > 2 else parts[0]


def main():
    arguments = sys.argv[1:]
    if arguments and not arguments[0].startswith('-'):
        root = arguments.pop(0)
    else:
        root = subprocess.run(['git', 'rev-parse', '--show-toplevel'], capture_output=True, text=True, check=True).stdout.strip()
    if arguments[:1] == ['--list']:
        wanted = [os.path.relpath(os.path.abspath(path), os.path.abspath(root)) for path in arguments[1:]]
        for path in tracked(root):
            if any(path == w or path.startswith(w.rstrip('/') + '/') or w == '.' for w in wanted):
                for found in look_through(root, path, True):
                    mark = 'NEVER ' if found.never else 'review'
                    print(f'{mark} {found.path}:{found.line}: {found.word} → {found.instead} | {found.text[:160]}')
        return 0
    never = []
    own = ('tests/arch/test-words.py', 'tests/arch/words-allowed.txt')
    allowed = read_allowed(root)
    used = set()
    for path in tracked(root):
        if path in own:
            continue
        for found in look_through(root, path, False):
            row = next((row for row in allowed if row[0] == path and row[1] in found.text), None)
            if row:
                used.add(row)
            else:
                never.append(found)
    if arguments[:1] == ['--count']:
        by_word, by_box = collections.Counter(), collections.Counter()
        for found in never:
            by_word[found.word] += 1
            by_box[box_of(found.path)] += 1
        for word, count in by_word.most_common():
            print(f'{count:6} {word}')
        print()
        for box, count in sorted(by_box.items()):
            print(f'{count:6} {box}')
        print(f'{len(never):6} in all, {sum(not f.path.startswith(LATER) for f in never)} of them not left to a later change')
        return 0
    print('1..3')
    now = [found for found in never if not found.path.startswith(LATER)]
    for found in now:
        print(f'# {found.path}:{found.line}: "{found.word}": write {found.instead}. {found.text[:140]}')
    print(f'{"not ok" if now else "ok"} 1 - no word of the list ({len(never) - len(now)} in boxes that come later)')
    stale = [row for row in allowed if row not in used]
    for row in stale:
        print(f'# words-allowed.txt: nothing in {row[0]} needs "{row[1]}" any more; delete the row.')
    print(f'{"not ok" if stale else "ok"} 2 - each exception is needed')
    blind = [text for text, words in SAMPLES if [f.word for f in find('sample.c', text, False)] != words]
    for text in blind:
        print(f'# not found as expected: {text!r}')
    print(f'{"not ok" if blind else "ok"} 3 - words of a sample are found, and plain ones are not')
    return 1 if now or stale or blind else 0


if __name__ == '__main__':
    sys.exit(main())
