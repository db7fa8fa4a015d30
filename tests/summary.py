#!/usr/bin/env python3
"""Counts test cases in Meson's logs and prints `N passed, N failed, N skipped`.

Meson counts programs; a program here holds many cases, so the TAP lines are counted instead. A program that
died, timed out or announced more cases than it ran counts as one more failure. The last lines of a failed program
follow its name, since the end of a log is often all that is read.
"""
import json
import re
import sys

LINE = re.compile(r'^(ok|not ok)\b\s*\d*\s*(?:-\s*)?(.*?)(?:\s*#\s*(SKIP|TODO)\b\s*(.*))?$', re.IGNORECASE)
PLAN = re.compile(r'^1\.\.(\d+)')
# The number of lines of each stream of a failed program that are repeated.
REPEATED = 12


def count(test):
    """Returns (passed, failed, [(case, reason) skipped]) of one program."""
    passed = failed = seen = 0
    skipped = []
    planned = None
    for line in test.get('stdout', '').splitlines():
        plan = PLAN.match(line)
        if plan:
            planned = int(plan.group(1))
        match = LINE.match(line)
        if not match:
            continue
        seen += 1
        verdict, name, mark, reason = match.groups()
        if mark and mark.upper() == 'SKIP':
            skipped.append((name, reason or 'no reason given'))
        elif verdict == 'ok':
            passed += 1
        else:
            failed += 1
    result = test['result']
    if seen == 0:
        if planned == 0 or result == 'SKIP':
            text = (test.get('stdout', '') + test.get('stderr', '')).strip().splitlines()
            return 0, 0, [(test['name'], text[-1] if text else 'no reason given')]
        return (1, 0, []) if result == 'OK' else (0, 1, [])
    if failed == 0 and result not in ('OK', 'SKIP', 'EXPECTEDFAIL'):
        failed += 1
    return passed, failed, skipped


def said(test):
    """What repeats and explains a failure: seeds, the cases that failed, the last of its notes and of its errors."""
    lines = [line for line in test.get('stdout', '').splitlines() if '-DEBUG: ' not in line]
    failed = [line for line in lines if line.startswith(('not ok', 'Bail out')) or 'seed' in line.lower()]
    # The head of a stack says what happened, its end only that a program has a main loop.
    stack = next((n for n, line in enumerate(lines) if line.startswith('#') and line.endswith('backtrace:')), None)
    last = lines[-REPEATED:] if stack is None else lines[max(stack - REPEATED, 0):stack + 2 * REPEATED]
    notes = [line for line in last if line.startswith('#') and line not in failed]
    return failed[:REPEATED] + notes + test.get('stderr', '').splitlines()[-REPEATED:]


def main():
    status, tests = int(sys.argv[1]), []
    passed = failed = 0
    skipped, failures = [], []
    for log in sys.argv[2:]:
        try:
            with open(log, encoding='utf-8') as lines:
                tests += [json.loads(line) for line in lines if line.strip()]
        except OSError as error:
            print(f'There is no test log: {error}', file=sys.stderr)
            # A build without Studio has no tests of it.
            if log == sys.argv[2]:
                return status or 1
    for test in tests:
        p, f, s = count(test)
        passed += p
        failed += f
        skipped += [(test['name'], case, reason) for case, reason in s]
        if f:
            failures.append(test)
    for program, case, reason in skipped:
        print(f'skipped: {program}: {case}: {reason}')
    for test in failures:
        print(f'failed: {test["name"]} ({test["result"].lower()} after {test.get("duration", 0):.0f} s)')
        for line in said(test):
            print(f'    {line}')
    print(f'{passed} passed, {failed} failed, {len(skipped)} skipped')
    return 1 if failed or status or passed == 0 else 0


if __name__ == '__main__':
    sys.exit(main())
