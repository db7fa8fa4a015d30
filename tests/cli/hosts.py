"""Two hosts on one machine: network name spaces with names, wires and folders of their own, between which mpirun starts ranks by a
launcher of this test in the place of ssh. The numbers are
those of one rank; what a host lacks is said before the first step; a wire that is cut ends the run on both. Skipped, with the reason, where a program is missing or
name spaces or the wires between them are not allowed.

hosts.py GRADLOOM
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

A, B = '10.77.0.1', '10.77.0.2'
F64 = ['--device', 'ref', '--precision', 'f64']
GRAPH = '''<graph xmlns="urn:gradloom:graph" version="1" name="rows">
<node id="data" op="dataset" source="csv" path="rows/rows.csv" target="y"/>
<node id="fc" op="linear" out_features="1"/>
<node id="loss" op="mse_loss"/>
<wire from="data.x" to="fc"/>
<wire from="fc" to="loss.input"/>
<wire from="data.y" to="loss.target"/>
<train loss="loss" lr="0.01" batch_size="2" epochs="2"/>
</graph>
'''


def skip(why):
    print('skipped:', why)
    sys.exit(77)


def enter():
    """This script once more, as the first process of host a; all that it starts ends with it."""
    words = ['unshare'] + (['--user', '--map-root-user'] if os.geteuid() else [])
    words += ['--net', '--mount', '--uts', '--pid', '--fork', '--kill-child', '--mount-proc']
    for program in ['mpirun', 'unshare', 'nsenter', 'ip', 'hostname', 'mount']:
        if shutil.which(program) is None:
            skip(f'there is no {program}')
    wire = ['link', 'add', 'wire-a', 'type', 'veth', 'peer', 'name', 'wire-b']
    for part, why in [(['link', 'set', 'lo', 'up'], 'network name spaces are not allowed here'),
                      (wire, 'there are no wires between name spaces (veth) here')]:
        done = subprocess.run(words + ['ip', *part], capture_output=True, text=True)
        if done.returncode != 0:
            skip(f'{why}: ' + (done.stderr.strip() or f'status {done.returncode}'))
    sys.stdout.flush()
    os.execvp(words[0], words + [sys.executable, os.path.abspath(__file__), sys.argv[1], 'inside'])


def call(*words):
    subprocess.run(words, check=True)


def on_b(host, *words):
    return ['nsenter', '--target', str(host.pid), '--net', '--uts', '--mount', '--', *words]


def make_hosts(folder):
    """Host a is this process, b another one; a wire leads from the one to the other."""
    call('hostname', 'host-a')
    call('ip', 'link', 'set', 'lo', 'up')
    b = subprocess.Popen(['unshare', '--net', '--uts', '--mount', 'sleep', '1000'])
    while os.readlink(f'/proc/{b.pid}/ns/net') == os.readlink('/proc/self/ns/net'):
        time.sleep(0.01)
    call('ip', 'link', 'add', 'wire-a', 'type', 'veth', 'peer', 'name', 'wire-a', 'netns', str(b.pid))
    call('ip', 'address', 'add', A + '/24', 'dev', 'wire-a')
    call('ip', 'link', 'set', 'wire-a', 'up')
    call(*on_b(b, 'hostname', 'host-b'))
    call(*on_b(b, 'ip', 'link', 'set', 'lo', 'up'))
    call(*on_b(b, 'ip', 'address', 'add', B + '/24', 'dev', 'wire-a'))
    call(*on_b(b, 'ip', 'link', 'set', 'wire-a', 'up'))
    launcher = os.path.join(folder, 'launcher')
    with open(launcher, 'w') as file:
        file.write(f'#!/bin/sh\n# HOST COMMAND…: in the place of ssh, with an environment of its own\n'
                   f'[ "$1" != -x ] || shift\nshift\nexec env -u GRADLOOM_CPU_DEVICES {" ".join(on_b(b, "sh", "-c"))} "$*"\n')
    os.chmod(launcher, 0o755)
    # Open MPI 4 reads the former names, Open MPI 5 the latter. MPICH, which begins with -x, is told to take the wire: both
    # hosts are one kernel, whose shared memory UCX would find.
    os.environ.update(HYDRA_LAUNCHER='ssh', HYDRA_LAUNCHER_EXEC=launcher, MPIR_CVAR_CH4_NETMOD='ofi', FI_PROVIDER='tcp', FI_TCP_IFACE='wire-a')
    os.environ.update(OMPI_MCA_plm='rsh', OMPI_MCA_plm_rsh_agent=launcher, PRTE_MCA_plm='ssh', PRTE_MCA_plm_ssh_agent=launcher,
                      TMPDIR=folder)
    return b


def received():
    """Bytes that host a has had from b."""
    with open('/proc/net/dev') as file:
        return int(re.search(r'wire-a:\s*(\d+)', file.read()).group(1))


def train(gradloom, *words):
    return subprocess.run([gradloom, 'train', *words], capture_output=True, text=True, timeout=600)


def losses(done):
    assert done.returncode == 0, done.stderr
    return [event['loss'] for event in map(json.loads, done.stdout.splitlines()) if 'loss' in event]


def test_equal(gradloom, graph):
    before = received()
    one = losses(train(gradloom, graph, *F64, '--json', '--epochs', '1', '--batch-size', '100'))
    for hosts, batch in [(f'{A},{B}', '50'), (f'{A}:2,{B}:2', '25')]:
        two = losses(train(gradloom, graph, *F64, '--json', '--epochs', '1', '--batch-size', batch, '--hosts', hosts))
        assert len(one) == len(two) > 2 and all(abs(a - b) < 1e-10 for a, b in zip(one, two)), (one, two)
    assert received() - before > 10000, 'nothing has come from the other host'


def test_variables(gradloom, graph):
    """A variable of Gradloom reaches the other host: without it there is no device ref:1."""
    os.environ['GRADLOOM_CPU_DEVICES'] = '2'
    done = train(gradloom, graph, '--device', 'ref:1', '--precision', 'f64', '--epochs', '1', '--hosts', f'{A},{B}')
    assert done.returncode == 0 and '2 ranks on 2 machines over ' in done.stderr, (done.returncode, done.stderr)
    del os.environ['GRADLOOM_CPU_DEVICES']


def test_lacking(gradloom, folder, b):
    os.mkdir('rows')
    with open('rows/rows.csv', 'w') as file:
        file.write('x,y\n' + ''.join(f'{i},{2 * i}\n' for i in range(8)))
    with open('rows.xml', 'w') as file:
        file.write(GRAPH)
    call(*on_b(b, 'mount', '-t', 'tmpfs', 'none', os.path.join(folder, 'rows')))
    done = train(gradloom, 'rows.xml', '--hosts', f'{A},{B}', '--out', 'lacking')
    assert done.returncode == 1, (done.returncode, done.stderr)
    assert 'Rank 1 on host-b: ' in done.stderr and 'rows.csv' in done.stderr, done.stderr


def ranks(gradloom):
    """Processes of this program, on both hosts."""
    found = 0
    for name in filter(str.isdigit, os.listdir('/proc')):
        try:
            found += os.readlink(f'/proc/{name}/exe') == os.path.realpath(gradloom)
        except OSError:
            pass
    return found


def test_cut(gradloom, graph, b):
    # A file: mpirun's own process on b keeps what it was given until it finds out by itself that it is alone.
    with open('errors', 'w') as errors:
        run = subprocess.Popen([gradloom, 'train', graph, '--epochs', '1000000', '--hosts', f'{A},{B}', '--timeout', '10',
                                '--out', 'cut'], stdout=subprocess.DEVNULL, stderr=errors)
    while not os.path.exists('cut/events.jsonl') or '"eval"' not in open('cut/events.jsonl').read():
        assert run.poll() is None, open('errors').read()
        time.sleep(0.05)
    call(*on_b(b, 'ip', 'link', 'set', 'wire-a', 'down'))
    begin = time.monotonic()
    run.wait(timeout=600)
    # Less than the quarter of an hour after which TCP gives a connection up.
    while ranks(gradloom) > 0 and time.monotonic() - begin < 600:
        time.sleep(0.1)
    assert ranks(gradloom) == 0, f'{time.monotonic() - begin:.1f} s, {ranks(gradloom)} ranks are left'
    with open('errors') as errors:
        said = errors.read()
    assert run.returncode == 3 and 'Rank 1 has not reached' in said, (run.returncode, said)
    # It can be continued to the end of the epoch in which it is, which only the run knows.
    done = train(gradloom, '--resume', 'cut', '--epochs', '1')
    least = re.search('with at least ([0-9]+)', done.stderr)
    if least:
        done = train(gradloom, '--resume', 'cut', '--epochs', least[1])
    assert done.returncode == 0, done.stderr


def main():
    gradloom = os.path.abspath(sys.argv[1])
    if 'inside' not in sys.argv:
        enter()
    with tempfile.TemporaryDirectory(prefix='hosts') as folder:
        graph = os.path.join(os.environ['GRADLOOM_SOURCE_ROOT'], 'graphs', 'lessons', 'spirals.xml')
        os.chdir(folder)
        b = make_hosts(folder)
        test_equal(gradloom, graph)
        test_variables(gradloom, graph)
        test_lacking(gradloom, folder, b)
        test_cut(gradloom, graph, b)
        b.kill()


main()
