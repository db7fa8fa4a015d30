#!/usr/bin/env python3
"""Runs on another machine whose connections break at chosen states, by a stand-in for ssh: a start that is not answered, a shell that
prints much, a worker that is killed, a file that two data sets read, Studio's side, and what a host removes.

  remote-breaks.py GRADLOOM E2E_FOLDER
"""
import os
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, sys.argv[2])
from far import Far, end, workers  # noqa: E402

GRADLOOM = os.path.abspath(sys.argv[1])
GRAPH = '''<graph xmlns="urn:gradloom:graph" version="1" name="far">
<node id="data" op="dataset" source="csv" path="d.csv" target="y" target_type="float"/>%s<node id="fc" op="linear" out_features="1"/>
<node id="loss" op="mse_loss"/><wire from="data.x" to="fc"/><wire from="fc" to="loss.input"/><wire from="data.y" to="loss.target"/>
<train loss="loss" optimizer="sgd" lr="0.01" batch_size="8" epochs="%d" seed="1"/></graph>'''
n = 0
LAST = [None]


def ok(passed, what):
    global n
    n += 1
    print('%s %d - %s' % ('ok' if passed else 'not ok', n, what), flush=True)
    if not passed:
        raise SystemExit('# ' + LAST[0].stdout + LAST[0].stderr)


def write(path, text):
    with open(path, 'w', encoding='utf-8') as f:
        f.write(text)


def read(path):
    with open(path, 'rb') as f:
        return f.read()


class Here:
    def __init__(self, folder, far):
        self.folder, self.far = folder, far
        self.env = dict(os.environ, PATH=far.path, XDG_STATE_HOME=os.path.join(folder, 'state'),
                        XDG_CACHE_HOME=os.path.join(folder, 'cache'))

    def run(self, *words, stdin=''):
        r = subprocess.run([GRADLOOM, *words], cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           input=stdin, text=True, check=False)
        self.last = LAST[0] = r
        return r

    def says(self, words):
        if words not in self.last.stderr + self.last.stdout:
            print('# status %d: %s%s' % (self.last.returncode, self.last.stdout, self.last.stderr))
        return words in self.last.stderr + self.last.stdout


def begun(here, far):
    """The answer to a start is lost: the run may have begun or not."""
    far.install('[ "$2" != start ] || { %s remote start | dd bs=1 count=40 2> /dev/null; exit 255; }' % environment(far))
    r = here.run('train', 'long.xml', '--host', 'box', '--out', 'one', '--detach')
    ok(r.returncode == 5 and here.says('broke while the run began') and os.path.exists(here.folder + '/one/remote-id'),
       'a start without an answer keeps the id of the run')
    far.install()
    runs = far.runs()
    r = here.run('train', 'other.xml', '--host', 'box', '--out', 'one', '--detach')
    ok(r.returncode == 2 and here.says('is not empty'), 'which no other graph takes')
    far.set_down(True)
    r = here.run('train', 'long.xml', '--host', 'box', '--out', 'one', '--detach')
    ok(r.returncode == 5 and here.says('may have begun the run on box') and os.path.exists(here.folder + '/one/remote-id'),
       'nor does a second try forget it that does not reach the host')
    far.set_down(False)
    r = here.run('train', 'long.xml', '--host', 'box', '--out', 'one', '--detach')
    ok(r.returncode == 0 and far.runs() == runs and len(runs) == 1, 'the same command again finds the run that has begun')
    write(here.folder + '/one/run.json', '[' * 999999)
    r = here.run('attach', 'one', '--stop')
    ok(r.returncode == 0 and here.says('stopped'), 'and it can be stopped, though the file of its settings here is damaged')
    ok(len(read(here.folder + '/one/events.jsonl').splitlines()) > 1
       and read(here.folder + '/one/events.jsonl') == read(runs[0] + '/events.jsonl'), 'with its curve whole')
    # Before anything has begun.
    far.install('[ "$2" != start ] || exit 255')
    r = here.run('train', 'g.xml', '--host', 'box', '--out', 'two', '--detach')
    ok(r.returncode == 5 and not os.path.exists(here.folder + '/two'), 'a host that did not answer at all leaves nothing')
    far.install()


def environment(far):
    return "HOME='%s' XDG_STATE_HOME='%s/state' XDG_CACHE_HOME='%s/cache' '%s'" % (far.home, far.home, far.home, GRADLOOM)


def noisy(here, far):
    far.install("head -c 300000 /dev/zero | tr '\\0' 'x' | fold >&2")
    r = here.run('train', 'twice.xml', '--host', 'box', '--out', 'noisy')
    ok(r.returncode == 0 and here.says('done'), 'a shell that prints more than a pipe holds stops nothing; a file is named twice')
    far.install()
    there = far.runs()[-1]
    ok(sorted(os.listdir(os.path.join(there, '..', 'data'))) == ['d.csv'], 'and goes there once')


def killed(here, far):
    here.run('train', 'long.xml', '--host', 'box', '--out', 'killed', '--detach')
    there = [r for r in far.runs() if workers(r)][0]
    for pid in workers(there):
        os.kill(pid, signal.SIGKILL)
    while workers(there):
        pass
    r = here.run('attach', 'killed')
    ok(r.returncode not in (0, 1) and here.says('The process that trained on box was killed'),
       'a worker that was killed there is no clean stop')
    here.run('runs', '.', '--json')
    ok('"attachable":true' not in here.last.stdout, 'and does not go on')


def window(here, far):
    """What Studio starts."""
    os.makedirs(here.folder + '/window')
    graph = read(here.folder + '/long.xml').decode()
    r = here.run('remote', 'begin', 'box', 'window', here.folder, "{'lr': <0.02>, 'out': <'/tmp/x'>}", stdin=graph)
    ok(r.returncode == 2 and here.says('The option “out” does not go to a host') and not os.path.exists(here.folder + '/window'),
       'a host takes no paths')
    os.makedirs(here.folder + '/window')
    r = here.run('remote', 'begin', 'box', 'window', here.folder, "{'lr': <0.02>, 'paused': <true>}", stdin=graph)
    ok(r.returncode == 0, 'a run that waits before its first step begins')
    there = next(r for r in far.runs() if read(here.folder + '/window/remote-id').decode() in r)
    shown = subprocess.Popen([GRADLOOM, 'remote', 'connect', 'window'], cwd=here.folder, env=here.env, stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE)
    ok(shown.stdout.readline().startswith(b'GRADLOOM-WORKER'), 'its worker is reached')
    here.run('remote', 'connect', 'window')
    ok(here.says('GRADLOOM-WORKER busy'), 'by one window at a time')
    # The next relay takes over from one that hangs.
    relay = far.connections('relay')[-1]
    os.kill(relay, signal.SIGSTOP)
    r = here.run('attach', 'window', '--stop')
    ok(r.returncode == 0 and here.says('stopped'), 'a relay that hangs is replaced')
    shown.stdin.close()
    shown.stdout.read()
    ok(shown.wait() == 0 and b'"state":"stopped"' in read(there + '/sessions.jsonl'), 'and the run has ended')
    text = read(here.folder + '/state/gradloom/hosts/' + record(here, 'window')).decode()
    ok(text.split('\n')[2] == 'ended', 'which is noted here')


def record(here, run):
    info = os.stat(os.path.join(here.folder, run))
    return '%x-%x' % (info.st_dev, info.st_ino)


def pruned(here, far):
    content = os.path.join(far.home, 'cache', 'gradloom', 'content')
    old, young = (os.path.join(content, c * 64) for c in 'ab')
    for path, days in ((old, 31), (young, 29)):
        write(path, 'x')
        age(path, days)
    begun = [run for run in far.runs() if os.path.exists(run + '/events.jsonl')]
    *old_runs, young_run = begun  # in no order: one of them was killed
    for run in old_runs:
        age(run + '/events.jsonl', 91)
    age(young_run + '/events.jsonl', 89)
    # Workers that were stopped may need a moment to end, until which their runs are kept.
    for i in range(100):
        here.run('train', 'g.xml', '--host', 'box', '--out', 'last%d' % i)
        if not any(os.path.exists(os.path.dirname(run)) for run in old_runs):
            break
    ok(not os.path.exists(old) and os.path.exists(young), 'data files of the last month stay')
    ok(not any(os.path.exists(os.path.dirname(run)) for run in old_runs) and os.path.exists(young_run), 'and runs of three months')


def age(path, days):
    time = os.stat(path).st_mtime - days * 86400
    os.utime(path, (time, time))


def body(folder):
    far = Far(folder, GRADLOOM)
    here = Here(folder, far)
    second = '<node id="more" op="dataset" source="csv" path="d.csv" target="y" target_type="float"/>'
    write(folder + '/d.csv', 'a,b,y\n' + ''.join('%d,%d,%g\n' % (i % 7, i % 5, 0.1 * (i % 7)) for i in range(64)))
    write(folder + '/g.xml', GRAPH % ('', 2))
    write(folder + '/other.xml', GRAPH % ('', 3))
    write(folder + '/twice.xml', GRAPH % (second, 2))
    write(folder + '/long.xml', GRAPH % ('', 1000000))
    try:
        for part in (begun, noisy, killed, window, pruned):
            part(here, far)
        print('1..%d' % n)
    finally:
        end(far.runs())


with tempfile.TemporaryDirectory(prefix='gradloom-breaks-') as scratch:
    body(scratch)
