#!/usr/bin/env python3
"""What a stranger's graph, model, weights, data set or run folder may make the program do: docs/security.md.

  strangers.py GRADLOOM SHIM [WITH-DISPLAY TEST-UI]

SHIM is fail-call.c, built: it writes down what a command reads, writes, runs and connects to; of Studio, a test of pages. Names hold what a terminal, a shell, a
browser, a Python interpreter or a label would interpret.
"""
import ast
import os
import pickle
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import xml.dom.minidom
import zipfile
import zlib

GRADLOOM, SHIM = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
TOP = os.path.realpath(tempfile.mkdtemp(prefix='strangers-'))
HERE, HOME = os.path.join(TOP, 'here'), os.path.join(TOP, 'home')
MARK = os.path.join(TOP, 'pwned')
SHELL = '$(touch %s);`touch %s`|touch %s&&touch %s' % (MARK, MARK, MARK, MARK)
# Controls that XML may hold: CSI as one character, a line end, DEL, and the overrides of direction.
EVIL = '\x9b31m\n\x7f\u202e\u2066<b>x</b>&amp;"\'\\' + SHELL + "'''\"\"\"\n__import__('os').system('touch " + MARK + "')#"
RAW = '\x1b]0;title\x07\x1b[2J' + EVIL  # where a format has no limits, as CSV and JSON
FORBIDDEN = re.compile('[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]')
# Read by libraries and the program itself, wherever it is installed or built.
# Where libraries and the interpreter of this test have their files, on any system.
OWN = ('/usr/', '/etc/', '/proc/', '/sys/', '/dev/', '/lib', '/opt/', '/var/', '/run/', '/nix/', sys.prefix + '/',
       os.environ.get('GRADLOOM_BUILD_ROOT', '/usr/'))
n = 0


def ok(passed, what, why=''):
    global n
    n += 1
    print('%s %d - %s' % ('ok' if passed else 'not ok', n, what), flush=True)
    if not passed:
        print('# ' + repr(why)[:2000])
        ok.failed = True


ok.failed = False


def quote(text):
    return ''.join('&#%d;' % ord(c) if c in '<>&"\n\r\t' or ord(c) >= 127 else c for c in text)


def write(name, data):
    path = os.path.join(HERE, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    return path


def run(*words, allowed=(), stdin=None):
    """Runs the command, and checks what it prints and touches. allowed: folders and files that it may read as well."""
    log = os.path.join(TOP, 'log')
    if os.path.exists(log):
        os.remove(log)
    env = dict(os.environ, HOME=HOME, XDG_CONFIG_HOME=HOME, XDG_CACHE_HOME=HOME, XDG_STATE_HOME=HOME, GOMP_SPINCOUNT='10000',
               LD_PRELOAD=SHIM, GRADLOOM_TEST_LOG=log, ASAN_OPTIONS='verify_asan_link_order=0:detect_leaks=0')
    r = subprocess.run([GRADLOOM, *words], cwd=HERE, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       timeout=200, check=False)
    r.out, r.err = r.stdout.decode('utf-8', 'surrogateescape'), r.stderr.decode('utf-8', 'surrogateescape')
    r.faults = []
    for stream in (r.out, r.err):
        if FORBIDDEN.search(stream) or re.search('[\udc80-\udcff]', stream):
            r.faults.append('prints raw: ' + repr(stream[max(0, FORBIDDEN.search(stream).start() - 40):][:120] if FORBIDDEN.search(stream) else stream))
    with open(log, encoding='utf-8', errors='replace') as f:
        lines = f.read().splitlines()
    for line in lines:
        what, _, path = line.partition(' ')
        path = os.path.normpath(path) if path.startswith('/') else path
        inside = (path + '/').startswith((HERE + '/', HOME + '/')) or path == log
        if what == 'write' and not inside and path not in ('/dev/null', '/dev/shm'):
            r.faults.append('writes ' + path)
        if what == 'read' and not inside and not path.startswith(OWN) and path not in ('/', TOP) and not path.startswith(tuple(allowed) or ('\0',)):
            r.faults.append('reads ' + path)
        if what == 'run' and os.path.basename(path) not in ('gradloom', 'gradloom-lab'):
            r.faults.append('runs ' + path)
        if what == 'connect' and path == 'network':
            r.faults.append('connects to the network')
    if os.path.exists(MARK):
        r.faults.append('code was run')
        os.remove(MARK)
    if r.returncode < 0:
        r.faults.append('signal %d' % -r.returncode)
    return r


def check(what, status, *words, **more):
    r = run(*words, **more)
    ok(not r.faults and r.returncode in (status if isinstance(status, tuple) else (status,)), what,
       (r.returncode, r.faults, r.err[-600:]))
    return r


def graph(extra='', data='d.csv', name=EVIL, train=''):
    return '''<graph xmlns="urn:gradloom:graph" version="1" name="%s"><doc>%s</doc>
<node id="data" op="dataset" source="csv" path="%s" target="k"/><node id="fc" op="linear" out_features="%d"/>%s
<node id="loss" op="cross_entropy"/><wire from="data.x" to="fc"/><wire from="fc" to="loss.input"/><wire from="data.y" to="loss.target"/>
<train loss="loss" optimizer="sgd" lr="0.01" batch_size="4" epochs="1" seed="1"%s/></graph>''' % (
        quote(name), quote(EVIL), quote(data), 2, extra, train)


def names():
    """Names of graphs, nodes, columns and classes through all commands that print or write them."""
    csv = lambda text: '"%s"' % text.replace('"', '""')  # noqa: E731
    write('d.csv', '%s,b,k\n' % csv(RAW) + ''.join('%d,%d,%s\n' % (i, i * i % 7, csv(RAW if i % 2 else 'cat')) for i in range(16)))
    write('p.csv', '%s,b\n1,2\n' % csv(RAW))
    write('g.xml', graph())
    check('check', 0, 'check', 'g.xml')
    check('check --json', 0, 'check', 'g.xml', '--json')
    check('train', 0, 'train', 'g.xml', '--out', 'run')
    check('train --json', 0, 'train', 'g.xml', '--json', '--epochs', '1')
    check('a resumed run', (0, 2), 'train', '--resume', 'run', '--epochs', '2')
    check('eval', 0, 'eval', 'run')
    check('predict', 0, 'predict', 'run', 'p.csv')
    check('predict --json', 0, 'predict', 'run', 'p.csv', '--json')
    check('runs', 0, 'runs', '.')
    for command in ('plan', 'program'):
        check(command, 0, command, 'g.xml')
    check('diff', (0, 1), 'diff', 'g.xml', 'run/graph.xml')
    for kind in ('dot', 'svg', 'pytorch', 'onnx', 'safetensors', 'report'):
        r = run('export', 'run', '--to', kind, '-o', 'out.' + {'pytorch': 'py', 'report': 'html'}.get(kind, kind))
        if 'Install it' in r.err:  # gradloom-picture, which a build may lack
            print('# export --to %s: %s' % (kind, r.err.strip()))
            continue
        ok(not r.faults and r.returncode == 0, 'export --to ' + kind, (r.returncode, r.faults, r.err[-600:]))
    with open(os.path.join(HERE, 'out.py'), encoding='utf-8') as f:
        text = f.read()
    ok(not FORBIDDEN.search(text), 'the exported Python has no control', text[:300])
    calls = {c.func.id for c in ast.walk(ast.parse(text)) if isinstance(c, ast.Call) and isinstance(c.func, ast.Name)}
    ok('__import__' not in calls, 'the exported Python is one program without the code of a name', calls)
    if os.path.exists(os.path.join(HERE, 'out.svg')):
        picture = xml.dom.minidom.parse(os.path.join(HERE, 'out.svg'))
        ok(not picture.getElementsByTagName('script') and not picture.getElementsByTagName('b'), 'the exported picture has no foreign element')
    if os.path.exists(os.path.join(HERE, 'out.html')):
        with open(os.path.join(HERE, 'out.html'), encoding='utf-8') as f:
            ok('<b>x</b>' not in f.read(), 'the report has no foreign element')
    with open(os.path.join(HERE, 'out.dot'), encoding='utf-8') as f:
        text = f.read()
    ok(not FORBIDDEN.search(text), 'the exported graph of dot has no control', text[:400])


def errors():
    """Sentences that quote a name, of faulty files."""
    for what, text in {
            'an unknown operator': graph(extra='<node id="z" op="%s"/>' % quote(EVIL)),
            'an unknown attribute': graph(extra='<node id="z" op="relu" mode="%s"/>' % quote(EVIL)),
            'a faulty name of a node': graph(extra='<node id="%s" op="relu"/>' % quote(EVIL)),
            'a faulty expression': graph(extra='<node id="z" op="linear" out_features="{%s}"/>' % quote(EVIL)),
            'a missing file': graph(data=EVIL),
            'a foreign entity': '<!DOCTYPE graph [<!ENTITY a SYSTEM "file:///etc/passwd">]>' + graph(name='&a;').replace('&#38;a;', '&a;'),
            'a foreign document type': '<!DOCTYPE graph SYSTEM "http://127.0.0.1:9/x.dtd">' + graph(name='n'),
    }.items():
        write('bad.xml', text)
        r = check(what, 1, 'check', 'bad.xml')
        if 'entity' in what:
            ok('root:' not in r.out + r.err, 'no content of the entity')
    write('bad.csv', 'a,k\n1,%s\n' % RAW.replace('\n', ' '))
    write('bad.xml', graph(data='bad.csv').replace('target="k"', 'target="k" target_type="float"'))
    check('a cell of a table', 1, 'check', 'bad.xml')
    check('a name on the command line', (1, 2, 5), 'check', RAW.replace('\0', ''))


def weights():
    """Pickles call nothing, archives unpack nowhere, and external data lie in the model's folder."""
    class Evil:
        def __reduce__(self):
            return os.system, ('touch ' + MARK,)

    with zipfile.ZipFile(os.path.join(HERE, 'evil.pth'), 'w') as f:
        f.writestr('archive/data.pkl', pickle.dumps({'fc.weight': Evil()}, protocol=2))
        f.writestr('../../escaped', 'x')
        f.writestr('archive/version', '3\n')
    header = ('{"%s":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}' % 'e\\u001b[31m\\ud800\\u202e').encode()
    write('evil.safetensors', struct.pack('<Q', len(header)) + header + bytes(4))
    write('plain.pickle', pickle.dumps(Evil()))
    for name in ('evil.pth', 'evil.safetensors', 'plain.pickle'):
        check('weights ' + name, (1, 2), 'eval', 'g.xml', '--weights', name)
    ok(not os.path.exists(os.path.join(TOP, 'escaped')), 'no member of an archive is written')

    def field(number, data):
        return bytes([number << 3 | 2]) + bytes([len(data) & 127 | 128, len(data) >> 7]) + data

    secret = os.path.join(TOP, 'secret')
    with open(secret, 'wb') as f:
        f.write(b'secret!!' * 8)
    for where in ('../secret', secret, 'link'):
        if where == 'link':
            os.symlink(secret, os.path.join(HERE, 'link'))
        entry = field(1, b'location') + field(2, where.encode())
        tensor = b'\x08\x04\x10\x01' + field(8, b'w') + field(13, entry) + b'\x70\x01'
        name = field(1, b'y') + field(2, field(1, b'\x08\x01' + field(2, field(1, b'\x08\x04'))))
        node = field(1, b'w') + field(2, b'y') + field(4, b'Relu')
        model = b'\x08\x08' + field(7, field(1, node) + field(2, b'g') + field(5, tensor) + field(12, name)) + field(8, b'\x10\x11')
        write('evil.onnx', model)
        check('external data at ' + os.path.basename(where), 1, 'import', 'evil.onnx', '-o', 'evil.xml', '--force')


def folders():
    """A run's folder writes and reads nothing through links."""
    check('a run', 0, 'train', 'g.xml', '--out', 'plain')
    outside = os.path.join(TOP, 'outside')
    os.makedirs(os.path.join(outside, 'checkpoints'), exist_ok=True)
    for name in ('events.jsonl', 'checkpoints', 'weights.safetensors', 'sessions.jsonl', 'run.json', 'graph.xml', 'history'):
        shutil.rmtree(os.path.join(HERE, 'linked'), ignore_errors=True)
        shutil.copytree(os.path.join(HERE, 'plain'), os.path.join(HERE, 'linked'))
        path = os.path.join(HERE, 'linked', name)
        shutil.rmtree(path) if os.path.isdir(path) else os.path.exists(path) and os.remove(path)
        target = os.path.join(outside, name)
        if name not in ('checkpoints', 'history'):
            with open(target, 'w', encoding='utf-8') as f:
                f.write('outside')
        else:
            os.makedirs(target, exist_ok=True)
        os.symlink(target, path)
        before = sorted(os.walk(outside))
        r = run('train', '--resume', 'linked', '--epochs', '3')
        run('eval', 'linked'), run('runs', '.')
        intact = sorted(os.walk(outside)) == before
        if name not in ('checkpoints', 'history'):
            with open(target, encoding='utf-8') as f:
                intact = intact and f.read() == 'outside'
        ok(intact and r.returncode >= 0, 'a link at %s' % name, (r.returncode, r.err[-300:], sorted(os.walk(outside))))
    write('out.xml', graph(data=os.path.join(TOP, 'secret')))
    r = run('check', 'out.xml', allowed=(TOP,))
    ok('outside its folder' in r.err, 'check names files outside of the folder', r.err[-600:])


def recordings():
    """The graphs of a recording that Studio plays, saves and recovers read the tables in its folder, and no other."""
    log = os.path.join(TOP, 'studio')
    r = subprocess.run([sys.argv[3], 'env', 'LD_PRELOAD=' + SHIM, 'GRADLOOM_TEST_LOG=' + log, sys.argv[4], 'recording', '-p', '/recording/outside'],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=200, check=False)
    if r.returncode == 77:
        ok(True, 'a recording # SKIP ' + r.stdout.decode().strip())
        return
    open(log, 'a', encoding='utf-8').close()
    with open(log, encoding='utf-8', errors='replace') as f:
        touched = {line for line in f.read().splitlines() if line.endswith('.csv') or line == 'connect network'}
    done = sorted(re.sub(' .*/gradloom-recording-[^/]*/', ' ', line) for line in touched if not line.startswith('write '))
    ok(r.returncode == 0 and done == ['read apart/near.csv'], 'a recording', (r.returncode, sorted(touched), r.stdout[-600:]))


def peak(*words):
    """The most memory that the command takes, in bytes, and its exit status."""
    env = dict(os.environ, HOME=HOME, XDG_CONFIG_HOME=HOME, XDG_CACHE_HOME=HOME, GOMP_SPINCOUNT='10000')
    with open(os.path.join(TOP, 'said'), 'wb') as said:
        p = subprocess.Popen([GRADLOOM, *words], cwd=HERE, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said)
        _, status, used = os.wait4(p.pid, 0)
    return used.ru_maxrss * 1024, os.waitstatus_to_exitcode(status)


def limits():
    """Files of some kilobytes that announce more than they have, or that are nested deeply."""
    deep = 100000
    table = '<graph xmlns="urn:gradloom:graph" version="1" name="n"><node id="data" op="dataset" source="%s" %s/>\
<node id="f" op="flatten"/><node id="fc" op="linear" out_features="1"/><node id="m" op="mean"/><wire from="data.x" to="f"/>\
<wire from="f" to="fc"/><wire from="fc" to="m"/><train loss="m" optimizer="sgd" lr="0.1" batch_size="1"/></graph>'
    write('small.csv', 'a,k\n1,0\n2,1\n')
    write('small.xml', table % ('csv', 'path="small.csv" target="k"'))
    base, status = peak('check', 'small.xml')
    png = b'\x89PNG\r\n\x1a\n'
    for name, body in ((b'IHDR', struct.pack('>IIBBBBB', 50000, 50000, 8, 6, 0, 0, 0)), (b'IDAT', zlib.compress(bytes(100))), (b'IEND', b'')):
        png += struct.pack('>I', len(body)) + name + body + struct.pack('>I', zlib.crc32(name + body))
    write('pictures/a/1.png', png)
    write('pictures/b/1.png', png)
    head = "{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }" % (10**6, 10**5)
    write('huge.npy', b'\x93NUMPY\1\0' + struct.pack('<H', len(head)) + head.encode())
    write('huge.idx', struct.pack('>4B3I', 0, 0, 8, 3, 60000, 1000, 1000))
    write('labels.idx', struct.pack('>4BI', 0, 0, 8, 1, 60000))
    write('huge.safetensors', struct.pack('<Q', 1 << 60) + b'{}')
    write('deep.safetensors', struct.pack('<Q', 2 * deep) + b'[' * deep + b']' * deep)
    write('deep.json', '{"model":' + '[' * deep + ']' * deep + '}')
    write('t.txt', 'the cat\n' * 20)
    graphs = {
        'huge.npy': table % ('npy', 'x="huge.npy" y="huge.npy"'), 'huge.idx': table % ('idx', 'images="huge.idx" labels="labels.idx"'),
        'pictures of 2.5 billion pixels': table % ('image-folder', 'path="pictures" size="8"'),
        'deep.json': (table % ('text', 'path="t.txt" context="2" unit="tokenizer" tokenizer="deep.json"')).replace(
            'op="flatten"', 'op="embedding" num_embeddings="9" embedding_dim="2"'),
        'deep elements': '<graph xmlns="urn:gradloom:graph" version="1" name="n">' + '<module id="m">' * deep,
        'a deep expression': table % ('csv', 'path="small.csv" target="{' + '(' * deep + ')' * deep + '}"'),
        'an attribute of a megabyte': table % ('csv', 'path="%s" target="k"' % ('a' * 2**20)),
    }
    runs = [(what, write('l.xml', text), ['train', 'l.xml', '--steps', '1']) for what, text in graphs.items()]
    runs += [(name, None, ['eval', 'small.xml', '--weights', name]) for name in ('huge.safetensors', 'deep.safetensors')]
    for what, path, words in runs:
        if path is not None:
            write('l.xml', graphs[what])
        most, status = peak(*words)
        size = max(os.path.getsize(os.path.join(HERE, n)) for n in ('l.xml', 'deep.json', 'deep.safetensors'))
        with open(os.path.join(TOP, 'said'), encoding='utf-8', errors='replace') as f:
            said = f.read()
        print('# ' + said.strip()[:200].replace('\n', ' | '))
        ok(0 < status < 6 and most < base + (64 << 20) + 40 * size, 'limits: %s takes %d MiB' % (what, (most - base) >> 20), (status, most, base, said))


def main():
    print('TAP version 13')
    os.makedirs(HERE)
    os.makedirs(HOME)
    os.environ.pop('GRADLOOM_CHECK', None)
    try:
        names()
        errors()
        weights()
        folders()
        if len(sys.argv) > 3:
            recordings()
        limits()
    finally:
        shutil.rmtree(TOP)
    print('1..%d' % n)
    return ok.failed


sys.exit(main())
