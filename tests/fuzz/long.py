#!/usr/bin/env python3
"""A long run of libFuzzer that can be interrupted: counts, and the inputs that reach new code, accumulate in a folder.

  long.py run FUZZ STATE [--minutes M] [--slice SECONDS] [--readers a,b] [--goal N]
  long.py table FUZZ STATE         # runs, findings and coverage of each reader, as a table of Markdown
  long.py keep FUZZ STATE CORPUS   # the smallest inputs that reach the same code, as CORPUS/READER.zip

FUZZ is what run-libfuzzer.sh builds. A reader with a finding is left out until STATE/READER/crash-* is looked at and removed. The
readers take turns of SECONDS each, those with the fewest runs first.
"""
import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile

MOST_KEPT = 60       # inputs of a reader
MOST_BYTES = 16384   # of them together, after compression about a third
# The files whose coverage is stated for a reader.
FILES = {
    'graph': 'engine/graph/(loom-reader|loom-grammar|loom-graph|loom-element|loom-check)', 'lecture': 'engine/lesson/loom-lecture',
    'expression': 'engine/graph/loom-expr', 'safetensors': 'engine/interop/read-safetensors', 'torch': 'engine/interop/(pickle|read-torch)',
    'gguf': 'engine/interop/read-gguf', 'hdf5': 'engine/interop/hdf5', 'keras': 'engine/interop/read-keras',
    'weights-npz': 'engine/interop/read-npz', 'npy': 'engine/interop/loom-npy', 'onnx': 'engine/onnx/onnx-(import|tensor|attribute|map|graph|file|text|value|order|scope)',
    'costs': 'engine/plan/cost-table-file', 'launcher': 'engine/dist/loom-launch-log', 'translations': 'engine/data/loom-mo',
    'message': 'app/remote-stream', 'csv': 'engine/data/(loom-csv|csv-|dataset-csv)', 'csv-semicolons': 'engine/data/(loom-csv|csv-|dataset-csv)',
    'csv-wide': 'engine/data/(loom-csv|csv-|dataset-csv)', 'parquet': 'engine/data/(loom-parquet|parquet-|thrift)', 'npz': 'engine/data/dataset-npz',
    'tar': 'engine/data/(loom-tar|dataset-webdataset)', 'image-table': 'engine/data/dataset-image-table', 'npy-values': 'engine/data/dataset-npy',
    'npy-labels': 'engine/data/dataset-npy', 'idx': 'engine/data/loom-idx', 'idx-labels': 'engine/data/loom-idx', 'text': 'engine/data/(loom-text-file|dataset-text)',
    'merges': 'engine/data/loom-bpe', 'tokenizer': 'engine/data/(loom-tokenizer|token-)', 'unigram': 'engine/data/(loom-tokenizer|token-)',
    'pairs': 'engine/data/dataset-pairs', 'coco': 'engine/data/boxes-files', 'voc': 'engine/data/boxes-files', 'mask': 'engine/data/(picture-decode|dataset-masks)',
    'split': 'engine/data/loom-companions', 'bmp': 'engine/data/(picture-decode|loom-picture)', 'png': 'engine/data/(picture-decode|loom-picture)',
    'tiff': 'engine/data/(picture-decode|loom-picture)', 'jpeg': 'engine/data/(picture-decode|loom-picture)', 'webp': 'engine/data/(picture-decode|loom-picture)', 'saved-data': 'engine/data/loom-dataset-saved',
    'events': 'engine/(infer/loom-run-event|runs/loom-run-log)', 'sessions': 'engine/infer/loom-run-sessions', 'run-settings': 'engine/runs/loom-run-summary',
    'notes': 'engine/runs/loom-run-notes', 'unfinished': 'engine/infer/loom-run-unfinished', 'evaluations': 'engine/infer/loom-evaluation-history',
    'checkpoint-state': 'engine/train/run-restore', 'checkpoint-weights': 'engine/interop/read-safetensors',
    'checkpoint-optimizer': 'engine/run/state-file', 'packed-words': 'engine/train/word-pack', 'queue': 'engine/runs/loom-run-queue',
    'journal': 'ui/document/studio-journal', 'sentencepiece': 'engine/data/(loom-tokenizer|token-sentencepiece)',
    'mcp': 'app/mcp-', 'proposal': 'engine/runs/loom-proposal', 'recording': 'ui/page/recording-file', 'hand-in': 'engine/runs/hand-in-file', 'settings': 'ui/settings/studio-settings',
    'studio': 'ui/(run/(studio-run|run-)|pins/|evaluate/own-request|stepper/step-chips|timeline/studio-inventory)',
    'bus': 'app/worker/worker-(methods|predict|snapshot|step)', 'ranks-server': 'engine/train/(rank-server|rank-group)|engine/dist/loom-dist',
    'ranks-worker': 'engine/train/(rank-server|rank-group)|engine/dist/loom-dist', 'ranks-data': 'engine/(train/rank-group|dist/loom-dist|run/loom-state)',
    'ranks-shards': 'engine/(train/rank-group|dist/loom-dist|run/loom-state)', 'ranks-stages': 'engine/(train/rank-group|dist/loom-dist|run/loom-state)',
}


def environment(reader, **more):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    env = dict(os.environ, GRADLOOM_FUZZ_READER=reader, GRADLOOM_SOURCE_ROOT=root, LC_ALL='C.UTF-8', G_SLICE='always-malloc',
               G_DEBUG='fatal-warnings', ASAN_OPTIONS='allocator_may_return_null=1:detect_leaks=0:quarantine_size_mb=16',
               LSAN_OPTIONS='suppressions=%s/tests/lsan.supp' % root, LLVM_PROFILE_FILE='/dev/null')
    if os.path.isdir('/dev/shm'):
        env['TMPDIR'] = '/dev/shm'
    env.update(more)
    return env


def counts_of(state):
    path = os.path.join(state, 'counts.json')
    if not os.path.exists(path):
        return {}
    with open(path, encoding='utf-8') as f:
        return json.load(f)


def write_counts(state, counts):
    path = os.path.join(state, 'counts.json')
    with open(path + '.new', 'w', encoding='utf-8') as f:
        json.dump(counts, f, indent=1, sort_keys=True)
    os.replace(path + '.new', path)


def folders(state, reader):
    made = [os.path.join(state, reader, name) for name in ('corpus', 'seeds')]
    for folder in made:
        os.makedirs(folder, exist_ok=True)
    return made


def findings(state, reader):
    folder = os.path.join(state, reader)
    return sorted(n for n in os.listdir(folder) if re.match('(crash|leak|timeout|oom)-', n)) if os.path.isdir(folder) else []


def run(args):
    chosen = args.readers.split(',') if args.readers else list(FILES)
    counts, end = counts_of(args.state), time.monotonic() + 60 * args.minutes
    while time.monotonic() < end:
        left = [r for r in chosen if not findings(args.state, r) and counts.get(r, 0) < args.goal]
        if not left:
            break
        reader = min(left, key=lambda r: counts.get('seconds ' + r, 0))
        corpus, seeds = folders(args.state, reader)
        seconds = min(args.slice, max(5, int(end - time.monotonic())))
        r = subprocess.run([os.path.abspath(args.fuzz), '-max_total_time=%d' % seconds, '-max_len=%d' % args.most, '-timeout=60', '-rss_limit_mb=3000',
                            '-print_final_stats=1', corpus, seeds], cwd=os.path.join(args.state, reader), stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, env=environment(reader, GRADLOOM_FUZZ_SEEDS=seeds), text=True, errors='replace', check=False)
        done = re.findall(r'stat::number_of_executed_units: (\d+)', r.stderr) or re.findall(r'#(\d+)\t', r.stderr)
        counts = counts_of(args.state)
        counts[reader] = counts.get(reader, 0) + (int(done[-1]) if done else 0)
        counts['seconds ' + reader] = counts.get('seconds ' + reader, 0) + seconds
        write_counts(args.state, counts)
        found = findings(args.state, reader)
        print('%s %s: %d runs%s' % (time.strftime('%H:%M'), reader, counts[reader], ', ' + ' '.join(found) if found else ''), flush=True)
        if r.returncode != 0:
            with open(os.path.join(args.state, reader, 'log'), 'w', encoding='utf-8') as f:
                f.write(r.stderr)


def coverage(args, reader):
    """Lines reached and all lines, of the files that are the reader's own. The inputs are read once more, and leaks are found."""
    corpus, seeds = folders(args.state, reader)
    raw, data = os.path.join(args.state, reader, 'raw'), os.path.join(args.state, reader, 'profile')
    # Stacks that are complete, so that what libraries keep can be told from leaks.
    asan = 'allocator_may_return_null=1:detect_leaks=1:fast_unwind_on_malloc=0'
    r = subprocess.run([args.fuzz, '-runs=0', '-timeout=60', corpus, seeds], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                       errors='replace', env=environment(reader, GRADLOOM_FUZZ_SEEDS=seeds, LLVM_PROFILE_FILE=raw, ASAN_OPTIONS=asan),
                       cwd=os.path.join(args.state, reader), check=False)
    if r.returncode != 0:
        with open(os.path.join(args.state, reader, 'log'), 'w', encoding='utf-8') as f:
            f.write(r.stderr)
        print('%s: status %d, see its log' % (reader, r.returncode), file=sys.stderr)
    version = '-' + args.llvm if args.llvm else ''
    subprocess.run(['llvm-profdata' + version, 'merge', '-sparse', raw, '-o', data], check=True)
    out = subprocess.run(['llvm-cov' + version, 'export', '-summary-only', '-instr-profile', data, args.fuzz], stdout=subprocess.PIPE,
                         text=True, check=True).stdout
    reached = lines = 0
    for file in json.loads(out)['data'][0]['files']:
        if re.search('(%s)' % FILES[reader] + r'[^/]*\.c$', file['filename']):
            reached += file['summary']['lines']['covered']
            lines += file['summary']['lines']['count']
    return reached, lines


def table(args):
    counts = counts_of(args.state)
    print('| reader | runs | inputs | lines reached of its files | findings |\n|---|---|---|---|---|')
    for reader in args.readers.split(',') if args.readers else FILES:
        reached, lines = coverage(args, reader)
        print('| %s | %s | %d | %d of %d (%d %%) | %d |' % (reader, format(counts.get(reader, 0), ','), len(os.listdir(folders(args.state, reader)[0])),
                                                          reached, lines, 100 * reached / max(lines, 1), len(findings(args.state, reader))), flush=True)


def keep(args):
    for reader in args.readers.split(',') if args.readers else FILES:
        corpus, seeds = folders(args.state, reader)
        smallest = os.path.join(args.state, reader, 'smallest')
        shutil.rmtree(smallest, ignore_errors=True)
        os.makedirs(smallest)
        subprocess.run([args.fuzz, '-merge=1', '-timeout=60', smallest, corpus, seeds], env=environment(reader, GRADLOOM_FUZZ_SEEDS=seeds),
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=os.path.join(args.state, reader), check=False)
        names = sorted(os.listdir(smallest), key=lambda n: (os.path.getsize(os.path.join(smallest, n)), n))
        kept, size = [], 0
        for name in names:
            size += os.path.getsize(os.path.join(smallest, name))
            if len(kept) < MOST_KEPT and size <= MOST_BYTES:
                kept.append(name)
        path = os.path.join(args.corpus, reader + '.zip')
        if kept:
            with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as f:
                for number, name in enumerate(kept):
                    with open(os.path.join(smallest, name), 'rb') as one:
                        f.writestr(zipfile.ZipInfo('%03d' % number), one.read(), zipfile.ZIP_DEFLATED)
        print('%s: %d of %d inputs' % (reader, len(kept), len(names)), flush=True)


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest='command', required=True)
    for name in ('run', 'table', 'keep'):
        c = commands.add_parser(name)
        c.add_argument('fuzz', type=os.path.abspath)
        c.add_argument('state', type=os.path.abspath)
        c.add_argument('--readers')
        if name == 'keep':
            c.add_argument('corpus')
        if name == 'table':
            c.add_argument('--llvm', help='the version of llvm-cov, such as 14')
        if name == 'run':
            c.add_argument('--minutes', type=float, default=60)
            c.add_argument('--slice', type=int, default=60)
            c.add_argument('--goal', type=int, default=10_000_000)
            c.add_argument('--most', type=int, default=8192)
    args = parser.parse_args()
    os.makedirs(args.state, exist_ok=True)
    {'run': run, 'table': table, 'keep': keep}[args.command](args)


if __name__ == '__main__':
    sys.exit(main())
