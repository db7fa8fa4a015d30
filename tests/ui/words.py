#!/usr/bin/env python3
"""Every word that Studio shows is marked for translation, and has room in a language of longer words.

A language is made for it from the sources: each msgid in brackets (⟦Open⟧), half as long again. test-words opens Studio
in it and lists what it finds without brackets, or cut. Before that: POTFILES names every file with marks, and what the
translators wrote can be used in place of what it stands for.

  words.py SOURCE_ROOT WITH_DISPLAY TEST_WORDS [ARGUMENT…]
"""
import html
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT, WITH_DISPLAY, TEST = sys.argv[1:4]
LANGUAGE = "qaa"  # of private use: GTK has no words in it
MARKS = re.compile(r'\b(?:_|N_|C_|NC_|ngettext) ?\("|translatable="yes"|\b(?:loom_infer_fault|loom_net_fault|recipe_complain|'
                   r'loom_fault_set_fix|loom_faults_add|goal_text) \([^;]*"')
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')


def run(*words, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode != 0:
        print("Bail out! %s: %s" % (words[0], done.stdout[-3000:]))
        sys.exit(1)
    return done.stdout


def potfiles():
    with open(os.path.join(ROOT, "data/po/POTFILES"), encoding="utf-8") as f:
        return f.read().split()


def missing_files():
    """Sources with marks that POTFILES does not name, and names in it that are no files."""
    named = set(potfiles())
    marked = set()
    for top in ("ui", "engine", "app/gradloom-studio"):
        for folder, _, names in os.walk(os.path.join(ROOT, top)):
            for name in names:
                path = os.path.join(folder, name)
                if name.endswith((".c", ".h", ".ui")):
                    with open(path, encoding="utf-8") as f:
                        if MARKS.search(f.read()):
                            marked.add(os.path.relpath(path, ROOT))
    return sorted(marked - named), sorted(n for n in named if not os.path.exists(os.path.join(ROOT, n)))


def template(folder):
    """The words of the sources, as `gradloom-pot` collects them, and which are cut off by a macro that is no format of C99."""
    pot = os.path.join(folder, "gradloom.pot")
    with open(os.path.join(ROOT, "data/po/meson.build"), encoding="utf-8") as f:
        engine = re.findall(r"'(\w+)': (\d)", f.read())
    said = run("xgettext", *["--keyword=%s:%s" % e for e in engine], *["--flag=%s:%s:c-format" % e for e in engine],
               "--from-code=UTF-8", "--keyword=_", "--keyword=N_", "--keyword=C_:1c,2", "--keyword=NC_:1c,2",
               "--flag=g_strdup_printf:1:c-format", "--flag=g_string_append_printf:2:c-format", "--flag=_:1:pass-c-format",
               "--flag=ngettext:1:pass-c-format", "--flag=ngettext:2:pass-c-format", "--no-wrap", "-o", pot,
               "--files-from=data/po/POTFILES", cwd=ROOT, env=dict(os.environ, GETTEXTDATADIRS=os.path.join(ROOT, "data/po")))
    return pot, [line for line in said.split("\n") if "is not a valid" in line]


def longer(text):
    """In brackets and half as long again, in words that may go to the next line; what printf() and keys read stays."""
    body = text.rstrip("\n")
    more = "".join("x" if i % 5 else " " for i in range(max(len(body) * 2 // 5, 3)))
    return "⟦" + body + more.rstrip() + "⟧" + text[len(body):]


def collect_data(folder):
    """Words of the engine and of the graphs, which have no language: one a line, for test-words."""
    words = set()
    for top, end in (("engine", (".c", ".h")), ("graphs", (".xml",))):
        for path, _, names in os.walk(os.path.join(ROOT, top)):
            for name in names:
                if name.endswith(end):
                    with open(os.path.join(path, name), encoding="utf-8") as f:
                        text = f.read()
                    words.update("".join(STRING.findall(m)) for m in re.findall(r'"(?:[^"\\\n]|\\.)*"(?:\s*"(?:[^"\\\n]|\\.)*")*', text))
                    words.update(STRING.findall(text))
                    words.update(html.unescape(doc) for doc in re.findall(r"<doc>([^<\n]*)</doc>", text))
                    words.add(os.path.splitext(name)[0])
    with open(os.path.join(folder, "data.txt"), "w", encoding="utf-8") as f:
        for word in sorted(words):
            f.write(html.unescape(word.replace('\\"', '"')).replace("\n", " ") + "\n")


def pseudo(pot, folder):
    """The .mo of the made language. A msgid may go over several lines of the .pot, which are one string."""
    out = []
    with open(pot, encoding="utf-8") as f:
        entries = f.read().split("\n\n")
    out.append('msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\nLanguage: %s\\n'
               'Plural-Forms: nplurals=2; plural=(n != 1);\\n"\n' % LANGUAGE)
    for entry in entries[1:]:
        part = {"msgctxt": "", "msgid": "", "msgid_plural": ""}
        seen = None
        for line in entry.split("\n"):
            word = line.split(" ", 1)[0]
            if word.startswith("msg"):
                seen = word if word in part else None
            if seen is not None and STRING.search(line):
                part[seen] += STRING.search(line)[1]
        if part["msgid"] == "":
            continue
        flags = "".join(line + "\n" for line in entry.split("\n") if line.startswith("#,"))
        lines = flags
        if part["msgctxt"]:
            lines += 'msgctxt "%s"\n' % part["msgctxt"]
        lines += 'msgid "%s"\n' % part["msgid"]
        if part["msgid_plural"]:
            lines += 'msgid_plural "%s"\nmsgstr[0] "%s"\nmsgstr[1] "%s"\n' % (
                part["msgid_plural"], longer(part["msgid"]), longer(part["msgid_plural"]))
        else:
            lines += 'msgstr "%s"\n' % longer(part["msgid"])
        out.append(lines)
    po, place = os.path.join(folder, "pseudo.po"), os.path.join(folder, LANGUAGE, "LC_MESSAGES")
    os.makedirs(place)
    with open(po, "w", encoding="utf-8") as f:
        f.write("\n".join(out))
    run("msgfmt", "--check-format", "-o", os.path.join(place, "gradloom.mo"), po)
    return len(out) - 1


def languages():
    with open(os.path.join(ROOT, "data/po/LINGUAS"), encoding="utf-8") as f:
        return f.read().split()


def check_language(language, pot, folder):
    """Its formats have the arguments of the original, and at most a hundredth of the texts is left."""
    po, merged = os.path.join(ROOT, "data/po/%s.po" % language), os.path.join(folder, language + ".po")
    run("msgfmt", "--check", "-o", os.devnull, po)
    run("msgmerge", "--quiet", "--no-fuzzy-matching", "-o", merged, po, pot)
    said = run("msgfmt", "--statistics", "-o", os.devnull, merged, env=dict(os.environ, LC_ALL="C"))
    done, left = (int(m[1]) if (m := re.search(r"(\d+) %s" % kind, said)) else 0 for kind in ("translated", "untranslated"))
    print("# %s: %d of %d words" % (language, done, done + left))
    if left > 0:
        for line in run("msgattrib", "--untranslated", "--no-obsolete", "--no-wrap", merged).split("\n"):
            if line.startswith("msgid ") and line != 'msgid ""':
                print("#   " + line[6:])
    return left <= 0.01 * (done + left)


def main():
    if any(shutil.which(tool) is None for tool in ("xgettext", "msgfmt", "msgmerge")):
        print("1..0 # SKIP gettext is not installed")
        sys.exit(77)
    folder = tempfile.mkdtemp(prefix="gradloom-words-")
    number, failed = 0, False

    def report(name, good):
        nonlocal number, failed
        number += 1
        failed = failed or not good
        print("%s %d %s" % ("ok" if good else "not ok", number, name), flush=True)

    unnamed, gone = missing_files()
    for name in unnamed:
        print("# %s has words, but is not in data/po/POTFILES" % name)
    for name in gone:
        print("# %s of data/po/POTFILES is no file" % name)
    report("/words/files", not unnamed and not gone)
    if gone:
        print("1..%d" % number)
        sys.exit(1)
    pot, cut = template(folder)
    for line in cut:
        print("# " + line)
    report("/words/formats", not cut)
    for language in languages():
        report("/words/language/" + language, check_language(language, pot, folder))
    print("# %d words" % pseudo(pot, folder))
    collect_data(folder)
    # LANGUAGE counts where the locale is not C; it need not be installed.
    env = dict(os.environ, LANGUAGE=LANGUAGE, LC_ALL="C.UTF-8", GTK_A11Y="test")
    walk = subprocess.run([WITH_DISPLAY, TEST, "words", folder] + sys.argv[4:], env=env, stdout=subprocess.PIPE, text=True)
    for line in walk.stdout.split("\n"):
        m = re.match(r"(not )?ok \d+ (.*)", line)
        if m:
            report(m[2], m[1] is None)
        elif line.startswith("#"):
            print(line)
    if walk.returncode == 77:
        report("/words/window # SKIP no display", True)
    elif walk.returncode != 0 and not failed:
        report("/words/window", False)
    print("1..%d" % number)
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(failed)


main()
