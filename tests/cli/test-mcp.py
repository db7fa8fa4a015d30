#!/usr/bin/env python3
"""The server of the Model Context Protocol, as a scripted client sees it.

  test-mcp.py SOURCE_ROOT GRADLOOM

The client does twenty tasks on copies of the lessons and models: it reads a graph, tries changes of its text, and proposes one. After
each, every file of the folder but proposals has the bytes that it had. Wrong messages have errors, and never end the server.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT, GRADLOOM = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
META = {'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientCapabilities': {},
        'io.modelcontextprotocol/clientInfo': {'name': 'test', 'version': '1'}}
GRAPHS = ['lessons/spirals.xml', 'lessons/linear-regression.xml', 'lessons/overfitting.xml', 'lessons/vector-add.xml',
          'models/fashion-lenet.xml', 'models/cifar-cnn.xml', 'models/char-gpt.xml']


class Server:
    def __init__(self, folder, **env):
        self.process = subprocess.Popen([GRADLOOM, 'mcp', '--root', folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=dict(os.environ, LANGUAGE='de', **env))
        self.number = 0

    def line(self, text):
        """Sends a line of bytes and returns the next message."""
        self.process.stdin.write(text + b'\n')
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def ask(self, method, meta=META, **params):
        self.number += 1
        answer = self.line(json.dumps({'jsonrpc': '2.0', 'id': self.number, 'method': method,
                                       'params': dict(params, **({'_meta': meta} if meta else {}))}).encode())
        assert answer['id'] == self.number and answer['jsonrpc'] == '2.0', answer
        return answer

    def call(self, tool, /, **arguments):
        """(text, is_error, structured) of a tool."""
        answer = self.ask('tools/call', name=tool, arguments=arguments)
        assert 'result' in answer, answer
        result = answer['result']
        assert result['resultType'] == 'complete', result
        return result['content'][0]['text'], result['isError'], result.get('structuredContent', {})

    def good(self, tool, /, **arguments):
        text, is_error, _ = self.call(tool, **arguments)
        assert not is_error, text
        return text

    def refused(self, tool, /, **arguments):
        answer = self.ask('tools/call', name=tool, arguments=arguments)
        assert answer.get('error', {}).get('code') == -32602, answer
        return answer['error']['message']

    def end(self):
        self.process.stdin.close()
        assert self.process.stdout.read() == b''
        assert self.process.wait() == 0


def contents(folder):
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            if not name.endswith('.proposal'):
                with open(os.path.join(place, name), 'rb') as f:
                    found[os.path.join(place, name)] = f.read()
    return found


def copy_graphs(folder):
    for name in GRAPHS:
        shutil.copy(os.path.join(ROOT, 'graphs', name), folder)


# ---- tasks: what an agent is asked for, done with the tools alone ---------------------------------------------------


def attribute(xml, node, name, value):
    """The text with an attribute of a node set."""
    begin, end = re.search(r'<node id="%s"[^>]*?(?=/>)' % node, xml).span()
    tag = xml[begin:end]
    tag = re.sub(r' %s="[^"]*"' % name, '', tag) + ' %s="%s"' % (name, value)
    return xml[:begin] + tag + xml[end:]


def training(xml, name, value):
    begin, end = re.search(r'<train[^>]*?(?=/?>)', xml).span()
    tag = re.sub(r' %s="[^"]*"' % name, '', xml[begin:end]) + ' %s="%s"' % (name, value)
    return xml[:begin] + tag + xml[end:]


def insert_after(xml, node, new, op, more=''):
    """A node between another and all its readers."""
    xml = re.sub(r'(<wire from=")%s(")' % node, r'\g<1>%s\2' % new, xml)
    first = xml.index('  <wire ')
    return (xml[:first] + '  <node id="%s" op="%s"%s/>\n  <wire from="%s" to="%s"/>\n' % (new, op, more, node, new) + xml[first:])


def ids(xml, op):
    return re.findall(r'<node id="([^"]+)" op="%s"' % op, xml)


def norms(xml):
    for node in ids(xml, 'conv2d'):
        xml = insert_after(xml, node, node + '_norm', 'batch_norm2d')
    return xml


def dropouts(xml):
    for node in ids(xml, 'relu'):
        xml = insert_after(xml, node, node + '_drop', 'dropout', ' p="0.2"')
    return xml


def gelus(xml):
    return xml.replace('op="relu"', 'op="gelu"')


def fits(server, graph, xml):
    """Halves the batch until the plan of a training step needs less than 20 MB."""
    batch = 4096
    while batch > 1:
        memory = [json.loads(line) for line in server.good('check', graph=graph, xml=training(xml, 'batch_size', batch), json=True)
                  .splitlines() if line.startswith('{')]
        if max(each['total'] for each in memory if each['event'] == 'memory') < 20e6:
            return training(xml, 'batch_size', batch)
        batch //= 2
    raise AssertionError('nothing fits')


def best_rate(server, graph, xml):
    """The learning rate with the lowest loss after 20 steps."""
    losses = {}
    for rate in (0.001, 0.01, 0.1):
        run = server.call('train', graph=graph, xml=xml, lr=rate, steps=20)[2]['run']
        line = [json.loads(line) for line in server.good('eval', run=run, json=True).splitlines() if line.startswith('{')][-1]
        losses[rate] = line['loss']
    return training(xml, 'lr', min(losses, key=losses.get))


TASKS = [
    ('insert batch norm after each convolution', 'fashion-lenet.xml', norms, r'\+ node .*batch_norm2d'),
    ('the same in another net', 'cifar-cnn.xml', norms, r'\+ node .*batch_norm2d'),
    ('add dropout after each activation', 'spirals.xml', dropouts, r'\+ node .*dropout'),
    ('use GELU instead of ReLU', 'spirals.xml', gelus, r'relu → gelu'),
    ('use GELU in the convolutional net', 'fashion-lenet.xml', gelus, r'relu → gelu'),
    ('make the hidden layer wider', 'spirals.xml', lambda x: attribute(x, 'hidden', 'out_features', 64), r'out_features .*64'),
    ('freeze the hidden layer', 'spirals.xml', lambda x: attribute(x, 'hidden', 'frozen', 'true'), 'frozen'),
    ('train with SGD and momentum', 'spirals.xml', lambda x: training(training(x, 'optimizer', 'sgd'), 'momentum', '0.9'), 'sgd'),
    ('train with AdamW', 'fashion-lenet.xml', lambda x: training(x, 'optimizer', 'adamw'), 'adamw'),
    ('train with a cosine schedule', 'spirals.xml',
     lambda x: x.replace('<metric', '<schedule type="cosine"/>\n    <metric', 1), 'cosine'),
    ('clip gradients', 'spirals.xml', lambda x: x.replace('<metric', '<clip norm="1"/>\n    <metric', 1), 'clip'),
    ('train in 16 bits', 'fashion-lenet.xml', lambda x: training(x, 'precision', 'bf16'), 'bf16'),
    ('double the batch', 'linear-regression.xml', lambda x: training(x, 'batch_size', 64), 'batch_size'),
    ('repeat it with another seed', 'spirals.xml', lambda x: training(x, 'seed', 7), 'seed'),
    ('stop when validation does not improve', 'overfitting.xml', lambda x: training(x, 'patience', 3), 'patience'),
    ('accumulate gradients of four batches', 'fashion-lenet.xml', lambda x: training(x, 'accumulate', 4), 'accumulate'),
    ('recompute the convolutions to save memory', 'fashion-lenet.xml',
     lambda x: attribute(x, ids(x, 'conv2d')[0], 'recompute', 'true'), 'recompute'),
    ('rename the hidden layer', 'spirals.xml', lambda x: x.replace('"hidden', '"folds').replace(' hidden', ' folds'), 'folds'),
]
# Tasks that need several calls.
LONG = [('make it fit into 20 MB', 'fashion-lenet.xml', fits, 'batch_size'),
        ('find a good learning rate', 'linear-regression.xml', best_rate, 'lr')]


def do_task(server, folder, graph, change, expected):
    before = contents(folder)
    xml = server.good('read', graph=graph)
    changed = change(server, graph, xml) if change in (fits, best_rate) else change(xml)
    server.good('check', graph=graph, xml=changed)
    difference = server.good('diff', graph=graph, xml=changed)
    assert re.search(expected, difference), difference
    answer = server.good('propose', graph=graph, xml=changed, title='A change', reason='Because it was asked for')
    assert answer.startswith('Proposed') and re.search(expected, answer), answer
    with open(os.path.join(folder, graph + '.proposal'), encoding='utf-8') as f:
        stored = json.load(f)
    assert stored['title'] == 'A change' and stored['reason'] and len(stored['base']) == 64, stored
    server.good('check', graph=graph, xml=stored['graph'])
    assert contents(folder) == before
    assert server.good('withdraw', graph=graph) == 'Withdrawn.\n'


def tasks(folder):
    copy_graphs(folder)
    server = Server(folder)
    assert len(TASKS) + len(LONG) == 20
    for name, graph, change, expected in TASKS + LONG:
        try:
            do_task(server, folder, graph, change, expected)
        except AssertionError as error:
            raise AssertionError('%s: %s' % (name, error)) from error
    server.end()


def protocol(folder):
    """Both ways to begin, the errors of wrong messages, and that each answer is one line."""
    copy_graphs(folder)
    server = Server(folder)
    found = server.ask('server/discover')['result']
    assert found['supportedVersions'] == ['2026-07-28'] and 'tools' in found['capabilities'], found
    assert found['_meta']['io.modelcontextprotocol/serverInfo']['name'] == 'gradloom'
    assert server.ask('tools/list', meta=None)['error']['code'] == -32602
    other = server.ask('tools/list', meta=dict(META, **{'io.modelcontextprotocol/protocolVersion': '2030-01-01'}))['error']
    assert other['code'] == -32022 and other['data'] == {'supported': ['2026-07-28'], 'requested': '2030-01-01'}, other
    assert server.ask('ping')['error']['code'] == -32601
    assert server.ask('initialize', meta=None, protocolVersion='2025-06-18')['result']['protocolVersion'] == '2025-06-18'
    assert server.ask('initialize', meta=None, protocolVersion='1')['result']['protocolVersion'] == '2025-11-25'
    assert server.ask('ping', meta=None)['result'] == {}
    assert 'resultType' not in server.ask('tools/list', meta=None)['result']
    assert server.ask('resources/list')['error']['code'] == -32601
    for text, code in ((b'{', -32700), (b'\xff', -32700), (b'[' * 100000, -32700), (b'[]', -32600), (b'7', -32600),
                       (b'{"id":1}', -32600), (b'{"id":1.5,"method":"ping"}', -32600), (b'{"id":1,"method":7}', -32600),
                       (b'{"id":null,"method":"ping"}', -32600), (b'{"id":1,"method":"ping","params":[]}', -32600)):
        assert server.line(text)['error']['code'] == code, text
    # A notification has no answer: the next line is that of the request.
    server.process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n\n')
    assert server.line(b'{"jsonrpc":"2.0","id":"\\u00e4\\"","method":"ping"}')['id'] == 'ä"'
    server.end()


def schemas(folder):
    """Each option of a schema is one of the command, with its type; none names a file to write."""
    server = Server(folder)
    tools = {tool['name']: tool for tool in server.ask('tools/list')['result']['tools']}
    assert set(tools) == {'read', 'check', 'ops', 'plan', 'program', 'simulate', 'train', 'eval', 'diff', 'propose', 'withdraw'}, list(tools)
    for name, tool in tools.items():
        assert tool['description'] and tool['inputSchema']['additionalProperties'] is False, tool
        assert tool['annotations']['destructiveHint'] is False
        own = set(tool['inputSchema']['properties']) - {'graph', 'xml', 'run', 'name', 'title', 'reason'}
        if not own:
            continue
        text = subprocess.run([GRADLOOM, name, '--help'], stdout=subprocess.PIPE, text=True, check=True).stdout
        for option in own:
            assert re.search(r'--%s\b' % option, text), (name, option)
            assert not re.search(r'--%s=(F\.|DIR|FILE)' % option, text), (name, option)
    assert tools['train']['inputSchema']['properties']['seed']['type'] == 'integer'
    assert tools['plan']['inputSchema']['properties']['eval']['type'] == 'boolean'
    server.end()


def leash(folder):
    """What an agent cannot do: other files, other options, data outside the folder, and links out of it."""
    inside = os.path.join(folder, 'inside')
    os.mkdir(inside)
    copy_graphs(inside)
    secret = os.path.join(folder, 'secret.txt')
    with open(secret, 'w', encoding='utf-8') as f:
        f.write('a secret of the user ' * 100)
    shutil.copy(os.path.join(inside, 'spirals.xml'), os.path.join(folder, 'outside.xml'))
    os.symlink('../outside.xml', os.path.join(inside, 'link.xml'))
    # Next to the folder, with a name that begins with its name, and among the data sets, which graphs may read.
    os.mkdir(inside + '-too')
    copy_graphs(inside + '-too')
    server = Server(inside, GRADLOOM_DATA=folder)
    server.refused('read', graph='../inside-too/spirals.xml')
    server.end()
    before = contents(folder)
    server = Server(inside)
    for name in ('../outside.xml', os.path.join(folder, 'outside.xml'), 'link.xml', '/usr/share/dict/words', 'none.xml', '.'):
        server.refused('read', graph=name)
        server.refused('propose', graph=name, xml='<graph/>', title='t')
    for arguments in ({'output': 'x'}, {'out': 'x'}, {'device': 'cuda:0'}, {'--out': 'x'}, {'steps': 100000}, {'steps': 0},
                      {'steps': '5 --out=x'}, {'lr': True}, {'set': ['data.source=text', 'data.path=../secret.txt']},
                      {'precision': ['f32']}, {'health': 'yes'}, {'graph': 7}):
        server.refused('train', **dict({'graph': 'spirals.xml'}, **arguments))
    server.refused('plan', graph='spirals.xml', picture='x.svg')
    server.refused('eval', run='../secret')
    server.refused('eval')
    server.refused('nothing')
    text = server.good('read', graph='char-gpt.xml')
    for path in (secret, '../secret.txt'):
        for tool in ('check', 'train', 'plan'):
            answer, is_error, _ = server.call(tool, graph='char-gpt.xml',
                                              xml=re.sub(r'source="[^"]*"[^>]*(?=/>)', 'source="text" path="%s" context="8"' % path,
                                                         text, count=1))
            assert is_error and 'outside the server' in answer, answer
    answer, is_error, _ = server.call('check', graph='spirals.xml', xml=training(server.good('read', graph='spirals.xml'), 'weights',
                                                                                '/etc/passwd'))
    assert is_error and 'outside the server' in answer, answer
    # A word with hyphens is a value, never an option.
    assert server.call('ops', name='--schema')[1]
    # An agent reads English, in whatever language its user works.
    answer, is_error, _ = server.call('check', graph='spirals.xml',
                                      xml='<graph xmlns="urn:gradloom:graph" version="1"><node id="r" op="relu"/></graph>')
    assert is_error and 'is not wired' in answer, answer
    server.call('train', graph='spirals.xml', lr='0.1 --out=x', steps=1)
    assert contents(folder) == before
    # A link in place of a proposal is replaced; what it leads to stays.
    os.symlink(secret, os.path.join(inside, 'spirals.xml.proposal'))
    server.good('propose', graph='spirals.xml', xml=training(server.good('read', graph='spirals.xml'), 'seed', 9), title='t')
    assert not os.path.islink(os.path.join(inside, 'spirals.xml.proposal'))
    assert contents(folder) == before
    for title in ('', 'two\nlines', 'x' * 201):
        answer, is_error, _ = server.call('propose', graph='spirals.xml', title=title,
                                          xml=training(server.good('read', graph='spirals.xml'), 'seed', 8))
        assert is_error, answer
    for xml in ('', 'no graph', server.good('read', graph='spirals.xml').replace('op="relu"', 'op="rleu"'),
                server.good('read', graph='spirals.xml')):
        assert server.call('propose', graph='spirals.xml', xml=xml, title='t')[1]
    server.end()


def temporary(folder):
    """Runs are removed at the end, also if the client is gone."""
    copy_graphs(folder)
    own = os.path.join(folder, 'temporary')
    os.mkdir(own)
    os.environ['TMPDIR'] = own
    server = Server(folder)
    _, _, more = server.call('train', graph='spirals.xml')
    assert more == {'status': 0, 'run': 'run-1'} and os.listdir(own), more
    assert '"event":"eval"' in server.good('eval', run='run-1', json=True)
    assert 'forward' in server.good('program', run='run-1')
    server.end()
    del os.environ['TMPDIR']
    assert os.listdir(own) == [], os.listdir(own)


def main():
    tests = [protocol, schemas, leash, temporary, tasks]
    failed = False
    print('1..%d' % len(tests))
    for number, test in enumerate(tests, 1):
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(os.path.realpath(folder))
                print('ok %d - %s' % (number, test.__name__), flush=True)
            except AssertionError as error:
                failed = True
                print('not ok %d - %s\n# %s' % (number, test.__name__, str(error).replace('\n', '\n# ')), flush=True)
    return failed


sys.exit(main())
