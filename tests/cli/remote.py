#!/usr/bin/env python3
"""Runs on another machine, by a real sshd on the loopback with keys of its own: data by content, the same bits, a lost connection,
and hosts that refuse.

  remote.py GRADLOOM E2E_FOLDER
"""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, sys.argv[2])
import far as hosts  # noqa: E402
from far import read, write  # noqa: E402

GRADLOOM = os.path.abspath(sys.argv[1])
GRAPH = '''<graph xmlns="urn:gradloom:graph" version="1" name="far">
<node id="data" op="dataset" source="csv" path="%s" target="y" target_type="float"/><node id="fc" op="linear" out_features="1"/>
<node id="loss" op="mse_loss"/><wire from="data.x" to="fc"/><wire from="fc" to="loss.input"/><wire from="data.y" to="loss.target"/>
<train loss="loss" optimizer="sgd" lr="0.01" batch_size="8" epochs="%d" seed="1"/></graph>'''
n = 0


def ok(passed, what):
    global n
    n += 1
    print('%s %d - %s' % ('ok' if passed else 'not ok', n, what), flush=True)
    if not passed:
        raise SystemExit(1)


class Far(hosts.Sshd):
    """The other machine, and the environment of this one."""

    def __init__(self, folder):
        super().__init__(folder, GRADLOOM)
        if self.fault:
            print('1..0 # SKIP sshd does not start: %s' % self.fault)
            sys.exit(77)
        self.env = dict(os.environ, PATH=self.path, XDG_STATE_HOME=os.path.join(folder, 'here', 'state'),
                        XDG_CACHE_HOME=os.path.join(folder, 'here', 'cache'))

    def run(self, *words):
        return subprocess.run([GRADLOOM, *words], cwd=self.folder, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, check=False)

    def folder_of_runs(self):
        return os.path.join(self.home, 'state', 'gradloom', 'remote')

    def events(self, run):
        """The log of the run there that is mirrored here."""
        return read(os.path.join(self.folder_of_runs(), read(os.path.join(self.folder, run, 'remote-id')).decode(), 'run', 'events.jsonl'))


def say(r, words):
    if words not in r.stderr + r.stdout:
        print('# status %d: %s%s' % (r.returncode, r.stdout, r.stderr))
    return words in r.stderr + r.stdout


def whole(far):
    r = far.run('train', 'work/g.xml', '--host', 'box', '--out', 'far')
    ok(r.returncode == 0 and say(r, 'done'), 'a run on another machine is followed to its end')
    far.run('train', 'work/g.xml', '--out', 'near')
    ok(read(far.folder + '/far/weights.safetensors') == read(far.folder + '/near/weights.safetensors'),
       'its weights come here, with the bits of a run here')
    ok(read(far.folder + '/far/events.jsonl') == read(far.folder + '/near/events.jsonl') == far.events('far'),
       'and its curve is whole')
    ok(b'work' in read(far.folder + '/far/run.json') and far.home.encode() not in read(far.folder + '/far/run.json'),
       'its mirror names no folder of the other machine')
    r = far.run('eval', 'far')
    ok(r.returncode == 0, 'and can be evaluated here')
    content = os.listdir(far.home + '/cache/gradloom/content')
    r = far.run('train', 'work/outside.xml', '--host', 'box', '--out', 'far-2')
    ok(r.returncode == 0 and os.listdir(far.home + '/cache/gradloom/content') == content and len(content) == 1,
       'the same data go there once, also by a path outside the graph')
    there = subprocess.run(['grep', '-rl', far.folder + '/work', far.folder_of_runs()], stdout=subprocess.PIPE, text=True, check=False).stdout
    ok(there == '', 'no path of this machine is known there')


def lost(far):
    r = far.run('train', 'work/long.xml', '--host', 'box', '--out', 'long', '--detach')
    ok(r.returncode == 0 and say(r, 'gradloom attach long'), 'a run is left there')
    ok(say(far.run('runs', '.'), 'long'), 'and is listed here')
    attached = subprocess.Popen([GRADLOOM, 'attach', 'long', '--json'], cwd=far.folder, env=far.env, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
    ok('"event":"step"' in attached.stdout.readline(), 'it can be watched')
    # The connection that carries the worker's messages.
    found = subprocess.run(['pgrep', '-P', str(attached.pid)], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    for pid in found:
        os.kill(int(pid), signal.SIGKILL)
    errors = attached.communicate()[1]
    ok(attached.returncode == 5 and 'connection to box is lost, and the run goes on there' in errors
       and 'gradloom attach long' in errors, 'a lost connection is no lost run, and the way back is said')
    # A network that drops every packet: the first client's end is not noticed there.
    hung = subprocess.Popen([GRADLOOM, 'attach', 'long', '--json'], cwd=far.folder, env=far.env, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, text=True)
    hung.stdout.readline()
    found = subprocess.run(['pgrep', '-P', str(hung.pid)], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    for pid in found:
        os.kill(int(pid), signal.SIGSTOP)
    r = far.run('attach', 'long', '--stop')
    hung.kill()
    for pid in found:
        os.kill(int(pid), signal.SIGKILL)
    hung.communicate()
    ok(r.returncode == 0 and say(r, 'stopped'), 'the run has gone on, and is stopped by the next command')
    ok(read(far.folder + '/long/events.jsonl') == far.events('long'), 'with its curve whole')
    ok(os.path.exists(far.folder + '/long/weights.safetensors'), 'and its weights')
    shutil.copytree(far.folder + '/long', far.folder + '/copy')
    r = far.run('attach', 'copy')
    ok(r.returncode == 1 and say(r, 'No run goes on'), 'a copy of its folder leads nowhere')


def trainers(file):
    """The processes that have a file open."""
    found = []
    for pid in filter(str.isdigit, os.listdir('/proc')):
        try:
            if any(os.readlink('/proc/%s/fd/%s' % (pid, fd)) == file for fd in os.listdir('/proc/%s/fd' % pid)):
                found.append(int(pid))
        except OSError:
            pass
    return found


def killed(far):
    r = far.run('train', 'work/long.xml', '--host', 'box', '--out', 'killed', '--detach')
    run = os.path.join(os.path.realpath(far.folder_of_runs()), read(os.path.join(far.folder, 'killed', 'remote-id')).decode(), 'run')
    pids = trainers(os.path.join(run, 'events.jsonl'))
    ok(r.returncode == 0 and len(pids) == 1, 'a run is left there, with one process')
    os.kill(pids[0], signal.SIGKILL)
    while trainers(os.path.join(run, 'events.jsonl')):
        time.sleep(0.02)
    r = far.run('attach', 'killed')
    ok(r.returncode == 5 and say(r, 'was killed'), 'a killed process there is no stop')
    ok(say(far.run('runs', 'killed'), 'killed  '), 'also in the list of runs')
    # The events after its checkpoint are computed again, and other ones with another rate.
    r = far.run('train', '--resume', 'killed', '--lr', '0.02', '--detach')
    ok(r.returncode == 0 and say(r, 'Training goes on on box'), 'it is continued there')
    r = far.run('attach', 'killed', '--stop')
    ok(r.returncode == 0 and read(far.folder + '/killed/events.jsonl') == far.events('killed'), 'and the curve here is that of the host')


def steps(run):
    """The events but those of branches, which name the parent's folder on its machine."""
    return [line for line in read(run + '/events.jsonl').splitlines() if b'"event":"branch"' not in line]


def continued(far):
    far.run('train', 'work/g.xml', '--host', 'box', '--out', 'part', '--steps', '10')
    r = far.run('train', '--resume', 'part', '--steps', '20')
    ok(r.returncode == 0 and say(r, 'stopped'), 'a run of another machine is continued there')
    far.run('train', 'work/g.xml', '--out', 'near-part', '--steps', '10')
    far.run('train', '--resume', 'near-part', '--steps', '20')
    ok(read(far.folder + '/part/weights.safetensors') == read(far.folder + '/near-part/weights.safetensors')
       and read(far.folder + '/part/events.jsonl') == far.events('part') == read(far.folder + '/near-part/events.jsonl'),
       'with the bits of a run here')
    r = far.run('train', '--resume', 'part', '--host', 'locked')
    ok(r.returncode == 2 and say(r, 'part is not a run of locked'), 'and on no other machine')
    r = far.run('train', '--branch', 'part', '--step', '15', '--steps', '22', '--out', 'branch')
    ok(r.returncode == 0, 'a branch of it begins there')
    far.run('train', '--branch', 'near-part', '--step', '15', '--steps', '22', '--out', 'near-branch')
    ok(read(far.folder + '/branch/weights.safetensors') == read(far.folder + '/near-branch/weights.safetensors')
       and steps(far.folder + '/branch') == steps(far.folder + '/near-branch') and len(steps(far.folder + '/branch')) > 20,
       'with the bits of a branch here')
    ok(far.home.encode() not in read(far.folder + '/branch/run.json'), 'without a folder of the other machine in its mirror')
    r = far.run('train', '--branch', 'near-part', '--step', '15', '--out', 'moved', '--host', 'box')
    ok(r.returncode == 2 and say(r, 'near-part is not a run of box') and not os.path.exists(far.folder + '/moved'),
       'a run of this machine has its branches here')
    r = far.run('train', '--replay', 'part', '--out', 'again')
    ok(r.returncode == 0 and read(far.folder + '/again/weights.safetensors') == read(far.folder + '/part/weights.safetensors')
       and read(far.folder + '/again/events.jsonl') == read(far.folder + '/part/events.jsonl') == far.events('again'),
       'it is repeated there, with its bits')
    r = far.run('train', '--replay', 'near-part', '--out', 'moved', '--host', 'box')
    ok(r.returncode == 2 and say(r, 'near-part is not a run of box') and not os.path.exists(far.folder + '/moved'),
       'a run of this machine is repeated here')
    shutil.rmtree(far.folder_of_runs() + '/' + read(far.folder + '/part/remote-id').decode())
    r = far.run('train', '--branch', 'part', '--step', '15', '--out', 'orphan')
    ok(r.returncode != 0 and say(r, 'does not have the run any more') and not os.path.exists(far.folder + '/orphan'),
       'a run that was removed there has no branches')
    r = far.run('train', '--resume', 'part', '--steps', '24')
    ok(r.returncode != 0 and say(r, 'does not have this run any more'), 'and does not go on')


def ranks(far):
    r = far.run('train', 'work/g.xml', '--host', 'box', '--out', 'ranks', '--ranks', '2', '--strategy', 'zero1')
    ok(r.returncode == 0 and say(r, 'done') and b'"ranks":2' in read(far.folder + '/ranks/run.json').replace(b' ', b''),
       'a run there can have several ranks')
    ok(b'strategy="zero1"' in read(far.folder + '/ranks/graph.xml'), 'and a strategy')
    r = far.run('train', '--replay', 'ranks', '--out', 'ranks-again')
    ok(r.returncode == 0 and read(far.folder + '/ranks-again/weights.safetensors') == read(far.folder + '/ranks/weights.safetensors')
       and b'"ranks":2' in read(far.folder + '/ranks-again/run.json').replace(b' ', b''), 'and is repeated by them')


def devices(far):
    r = far.run('remote', 'devices', 'box')
    ok(r.returncode == 0 and r.stdout.startswith('{"event":"device","name":"cpu",') and '"memory_free":' in r.stdout,
       'its devices and their memory are listed')
    r = far.run('remote', 'devices', 'locked')
    ok(r.returncode == 5 and say(r, 'without a password') and r.stdout == '', 'or why they are not')


def followed(far):
    events = far.folder + '/shown/events.jsonl'
    far.run('train', 'work/long.xml', '--host', 'box', '--out', 'shown', '--detach')
    shown = subprocess.Popen([GRADLOOM, 'remote', 'follow', 'shown'], cwd=far.folder, env=far.env, stdin=subprocess.DEVNULL)
    for more in (1, 2):
        size = os.path.getsize(events) if os.path.exists(events) else 0
        while not os.path.exists(events) or os.path.getsize(events) <= size:
            assert shown.poll() is None
            time.sleep(0.02)
    ok(True, 'the curve of a run that goes on comes here as it grows')
    far.run('attach', 'shown', '--stop')
    ok(shown.wait() in (0, 5) and read(events) == far.events('shown'), 'to its end, whole, next to another command that gets it')


def refused(far):
    r = far.run('train', 'work/g.xml', '--host', 'locked', '--out', 'x1')
    ok(r.returncode == 5 and say(r, 'without a password') and say(r, 'ssh-copy-id locked'), 'a host that wants a password')
    r = far.run('train', 'work/g.xml', '--host', '-oProxyCommand=touch hacked', '--out', 'x2')
    ok(r.returncode == 2 and say(r, 'is not a host') and not os.path.exists(far.folder + '/hacked'), 'an option is no host')
    far.install('#!/bin/sh\necho a greeting\necho GRADLOOM-REMOTE 99.1\ncat > /dev/null\n')
    r = far.run('train', 'work/g.xml', '--host', 'box', '--out', 'x3')
    ok(r.returncode == 5 and say(r, 'box has gradloom 99.1') and say(r, 'same version'), 'another version')
    # As a shell ends; the host is this machine, which may have Gradloom installed.
    far.install('#!/bin/sh\nexit 127\n')
    r = far.run('train', 'work/g.xml', '--host', 'box', '--out', 'x4')
    ok(r.returncode == 5 and say(r, 'Install Gradloom there'), 'a host without Gradloom')
    far.install()
    r = far.run('train', 'work/none.xml', '--host', 'box', '--out', 'x5')
    ok(r.returncode != 0 and say(r, 'none.csv'), 'data that do not exist')
    r = far.run('remote', 'fetch', '../here', '0', '-')
    ok(r.returncode == 2, 'an id is no path')
    ok(not any(os.path.exists('%s/x%d' % (far.folder, i)) for i in range(1, 6)), 'nothing half-written stays')


def body(folder):
    far = Far(folder)
    try:
        os.makedirs(folder + '/work')
        write(folder + '/work/d.csv', 'a,b,y\n' + ''.join('%d,%d,%g\n' % (i % 7, i % 5, 0.1 * (i % 7) - 0.2 * (i % 5)) for i in range(64)))
        write(folder + '/work/g.xml', GRAPH % ('d.csv', 3))
        write(folder + '/work/outside.xml', GRAPH % (folder + '/work/d.csv', 2))
        write(folder + '/work/long.xml', GRAPH % ('d.csv', 1000000))
        write(folder + '/work/none.xml', GRAPH % ('none.csv', 1))
        for part in (whole, lost, killed, continued, ranks, devices, followed, refused):
            part(far)
        print('1..%d' % n)
    finally:
        far.sshd.kill()
        # Runs of a part that has failed.
        for run in os.listdir(far.folder_of_runs()) if os.path.isdir(far.folder_of_runs()) else []:
            subprocess.run([GRADLOOM, 'attach', os.path.join(far.folder_of_runs(), run, 'run'), '--stop'], check=False,
                           env=dict(far.env, XDG_STATE_HOME=os.path.join(far.home, 'state')), stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL)


if hosts.missing():
    print('1..0 # SKIP there is no sshd (Debian: openssh-server)')
    sys.exit(77)
with tempfile.TemporaryDirectory(prefix='gradloom-remote-') as scratch:
    body(scratch)
