#!/usr/bin/env python3
"""Runs all scripts again and again and counts failures: repeat.py BUILD FILE [OPTION…]

  --runs N      ends after N complete runs (20)
  --busy K      next to K busy loops (0), with the priority of this program
  --minutes M   ends after M minutes, in the middle of a run, too, which then is not counted
  --only NAME   a script instead of all; may be repeated
  --processes N scripts at a time (3)
  --stalls SEED what a script waits for is delayed at random (README.md), by another seed in each run; such a run is not one of
                those that are counted

FILE gets a line for each complete run, so that runs of several days add up: date, commit, number of scripts, seconds, load of
the machine at the end, busy loops, number of failures, and names of the scripts that failed. A log of a failed run is kept
next to FILE. The status is 1 if a script failed.
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time

ROOT = os.path.abspath(os.path.join(os.path.dirname(__file__), '..', '..'))
LOG = 'e2e-repeat-%d' % os.getpid()  # several of this program run next to each other
HEAD = 'date\tcommit\tscripts\tseconds\tload\tbusy\tfailures\tnames\n'


def end(process):
    """Ends a process and all that it started."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def busy_loops(n):
    return [subprocess.Popen([sys.executable, '-c', 'while True: pass'], start_new_session=True) for _ in range(n)]


def run_all(build, only, until, processes):
    """Returns Meson's results, or None if time was up, or somebody ended it, before the end."""
    logs = os.path.join(build, 'meson-logs')
    words = ['meson', 'test', '-C', build, '--no-rebuild', '--num-processes', str(processes), '--logbase', LOG,
             '--timeout-multiplier', '10']
    process = subprocess.Popen(words + ['--suite', 'e2e'] + only, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        process.wait(None if until is None else max(until - time.monotonic(), 0))
    except subprocess.TimeoutExpired:
        return None
    finally:
        end(process)
    with open(os.path.join(logs, LOG + '.json'), encoding='utf-8') as log:
        results = [json.loads(line) for line in log if line.strip()]
    return None if any(r['result'] == 'INTERRUPT' for r in results) else results


def commit():
    done = subprocess.run(['git', '-C', ROOT, 'describe', '--always', '--dirty'], stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout.strip() or 'unknown'


def append(file, results, seconds, busy):
    """Appends the line of a run. Returns the number of scripts that failed."""
    failed = sorted(r['name'].split(' / ')[-1] for r in results if r['result'] not in ('OK', 'SKIP'))
    fields = [time.strftime('%Y-%m-%d %H:%M', time.gmtime()), commit(), len(results), round(seconds),
              '%.1f' % os.getloadavg()[0], busy, len(failed), ','.join(failed)]
    is_new = not os.path.exists(file)
    with open(file, 'a', encoding='utf-8') as out:
        out.write((HEAD if is_new else '') + '\t'.join(str(f) for f in fields) + '\n')
    return len(failed)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('build')
    parser.add_argument('file')
    parser.add_argument('--runs', type=int, default=20)
    parser.add_argument('--busy', type=int, default=0)
    parser.add_argument('--minutes', type=float)
    parser.add_argument('--only', action='append', default=[])
    parser.add_argument('--processes', type=int, default=3)
    parser.add_argument('--stalls', type=int)
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
    until = None if options.minutes is None else time.monotonic() + 60 * options.minutes
    failures = complete = 0
    loops = busy_loops(options.busy)
    try:
        while complete < options.runs:
            begin = time.monotonic()
            if options.stalls is not None:
                os.environ['GRADLOOM_TEST_STALLS'] = str(options.stalls + complete)
            results = run_all(options.build, options.only, until, options.processes)
            if not results:
                break
            complete += 1
            busy = options.busy if options.stalls is None else 'stalls %d' % (options.stalls + complete - 1)
            failed = append(options.file, results, time.monotonic() - begin, busy)
            if failed:
                shutil.copy(os.path.join(options.build, 'meson-logs', LOG + '.txt'),
                            '%s.%s.txt' % (options.file, time.strftime('%Y%m%d-%H%M%S', time.gmtime())))
            failures += failed
    finally:
        for loop in loops:
            end(loop)
    print('%d complete runs, %d failures' % (complete, failures))
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
