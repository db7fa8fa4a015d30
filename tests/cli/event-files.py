"""Event files of gradloom train --tensorboard, read back: first by a reader of this script, which checks lengths, checksums and
fields; if the package tensorboard is installed, also by its EventAccumulator.

event-files.py GRADLOOM
"""
import glob
import os
import struct
import subprocess
import sys
import tempfile
import zlib

GRADLOOM = os.path.abspath(sys.argv[1])
GRAPH = '''<graph xmlns="urn:gradloom:graph" version="1" name="shapes">
<node id="data" op="dataset" source="shapes" n="64" n_test="16" size="12" shapes="1" target_type="class"/>
<module name="part"><node id="x" op="module_input"/><node id="conv" op="conv2d" out_channels="4" kernel_size="3"/>
<node id="y" op="module_output"/><wire from="x" to="conv"/><wire from="conv" to="y"/></module>
<node id="first" module="part"/><node id="flat" op="flatten"/><node id="fc" op="linear" out_features="%s"/>
<node id="loss" op="cross_entropy"/>
<wire from="data.x" to="first"/><wire from="first" to="flat"/><wire from="flat" to="fc"/>
<wire from="fc" to="loss.input"/><wire from="data.y" to="loss.target"/>
<train loss="loss" lr="0.05" batch_size="16" epochs="2"><metric type="accuracy" input="fc" target="data.y"/></train>
<view><pin tensor="data.x" kind="image"/><pin tensor="first.conv" kind="image"/></view>
</graph>
'''


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


def masked(data):
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff


def records(path):
    data = open(path, 'rb').read()
    at = 0
    while at < len(data):
        head = data[at:at + 8]
        length, = struct.unpack('<Q', head)
        assert struct.unpack('<I', data[at + 8:at + 12])[0] == masked(head), 'checksum of a length'
        body = data[at + 12:at + 12 + length]
        assert len(body) == length, 'a record ends early'
        assert struct.unpack('<I', data[at + 12 + length:at + 16 + length])[0] == masked(body), 'checksum of a record'
        yield body
        at += 16 + length


def fields(message):
    """{number: [value]}: integers, or bytes of the other wire types."""
    found, at = {}, 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = varint()
        if tag & 7 == 0:
            value = varint()
        else:
            n = {1: 8, 5: 4}[tag & 7] if tag & 7 != 2 else varint()
            value, at = message[at:at + n], at + n
            assert len(value) == n
        found.setdefault(tag >> 3, []).append(value)
    return found


def doubles(data):
    return struct.unpack(f'<{len(data) // 8}d', data)


def png_size(data):
    assert data[:8] == b'\x89PNG\r\n\x1a\n'
    at, pixels = 8, b''
    while at < len(data):
        n, = struct.unpack('>I', data[at:at + 4])
        assert zlib.crc32(data[at + 4:at + 8 + n]) == struct.unpack('>I', data[at + 8 + n:at + 12 + n])[0]
        if data[at + 4:at + 8] == b'IHDR':
            width, height = struct.unpack('>II', data[at + 8:at + 16])
            colours = {0: 1, 2: 3}[data[at + 17]]
        if data[at + 4:at + 8] == b'IDAT':
            pixels += data[at + 8:at + 8 + n]
        at += 12 + n
    assert len(zlib.decompress(pixels)) == height * (1 + width * colours)
    return width, height, colours


def read(folder):
    """The values by tag, (step, content fields), the graph's nodes, and the steps of sessions."""
    values, nodes, sessions = {}, [], []
    for path in sorted(glob.glob(os.path.join(folder, 'events.out.tfevents.*'))):
        for i, body in enumerate(records(path)):
            event = fields(body)
            assert doubles(event[1][0])[0] > 1e9
            step = event[2][0]
            assert (event.get(3) == [b'brain.Event:2']) == (i == 0)
            for graph in event.get(4, []):
                assert not nodes, 'a second graph'
                nodes = [fields(node) for node in fields(graph)[1]]
            for summary in event.get(5, []):
                for value in fields(summary).get(1, []):
                    value = fields(value)
                    values.setdefault(value[1][0].decode(), []).append((step, value))
            sessions += [step] * len(event.get(7, []))
    return values, nodes, sessions


def check_files(folder, steps):
    values, nodes, sessions = read(folder)
    losses = values['train/loss']
    assert [step for step, _ in losses] == list(range(1, steps + 1)), losses
    assert all(0 < struct.unpack('<f', value[2][0])[0] < 100 for _, value in losses)
    assert all(abs(struct.unpack('<f', value[2][0])[0] - 0.05) < 1e-6 for _, value in values['train/learning_rate'])
    assert [step for step, _ in values['test/loss']] == [4, 8] and [step for step, _ in values['test/accuracy']] == [4, 8]
    for kind in ['weights', 'gradients']:
        for step, value in values[kind + '/first.conv.weight']:
            histogram = fields(value[5][0])
            count, limit, bucket = doubles(histogram[3][0])[0], doubles(histogram[6][0]), doubles(histogram[7][0])
            assert count == sum(bucket) == 4 * 3 * 9 and len(limit) == len(bucket)
            assert list(limit) == sorted(limit) and abs(limit[-1] - doubles(histogram[2][0])[0]) < 1e-9
    at = [step for step, _ in values['weights/fc.bias']]
    assert at[0] == 0 and at[-1] == steps and at == sorted(at), at
    assert at.count(4) >= 1 and len(set(at)) == steps + 1, at
    picture = fields(values['pins/data.x'][0][1][4][0])
    assert png_size(picture[4][0]) == (4 * 12, 12, 3) and (picture[1], picture[2], picture[3]) == ([12], [48], [3])
    assert png_size(fields(values['pins/first.conv'][0][1][4][0])[4][0]) == (4 * 10, 4 * 10, 1)
    names = {node[1][0].decode(): node for node in nodes}
    assert names['first/conv'][2] == [b'conv2d'] and names['flat'][3] == [b'first/conv'], names
    assert names['loss'][3] == [b'fc', b'data:1'], names['loss']
    return sessions


def check_accumulator(folder):
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    except ImportError:
        print('# the package tensorboard is not installed: read by this script alone')
        return
    events = EventAccumulator(folder, size_guidance={'scalars': 0, 'histograms': 0, 'images': 0})
    events.Reload()
    assert [event.step for event in events.Scalars('train/loss')] == list(range(1, 9))
    assert events.Histograms('weights/first.conv.weight')[-1].histogram_value.num == 108
    assert events.Images('pins/data.x')[0].width == 48
    assert {node.name for node in events.Graph().node} == {'data', 'first/conv', 'flat', 'fc', 'loss'}
    print('# read by the package tensorboard, too')


def train(*words, status=0, says=''):
    done = subprocess.run([GRADLOOM, 'train', *words], capture_output=True, text=True)
    assert done.returncode == status and says in done.stderr, (words, done.returncode, done.stderr)


assert crc32c(b'123456789') == 0xe3069283
with tempfile.TemporaryDirectory() as scratch:
    os.chdir(scratch)
    open('g.xml', 'w').write(GRAPH % 15)
    train('g.xml', '--out', 'plain')
    train('g.xml', '--out', 'run', '--tensorboard', '--steps', '5')
    train('--resume', 'run', '--tensorboard')
    assert check_files('run/tensorboard', 8) == [6]
    check_accumulator('run/tensorboard')
    # Watched or not, the same bits.
    assert open('run/weights.safetensors', 'rb').read() == open('plain/weights.safetensors', 'rb').read()
    train('g.xml', '--tensorboard=board')
    assert check_files('board', 8) == []
    train('g.xml', '--tensorboard', status=2, says='Add --out DIR')
    train('--tensorboard', 'g.xml', status=2, says='--tensorboard=DIR')
    # A link in a run from elsewhere leads nowhere.
    os.mkdir('elsewhere')
    os.rename('run/tensorboard', 'kept')
    os.symlink(os.path.abspath('elsewhere'), 'run/tensorboard')
    train('--resume', 'run', '--epochs', '3', '--tensorboard', status=5, says='tensorboard')
    assert os.listdir('elsewhere') == []
print('event files are read back')
