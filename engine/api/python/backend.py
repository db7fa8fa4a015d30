"""Builds the wheel: the package's files and what wheels say of themselves. No compiler and no other package is needed."""
import base64
import hashlib
import os
import re
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def field(name):
    with open(os.path.join(HERE, 'pyproject.toml'), encoding='utf-8') as f:
        return re.search(r'^%s = "(.*)"$' % name, f.read(), re.M).group(1)


def files():
    package = os.path.join(HERE, 'gradloom')
    for name in sorted(os.listdir(package)):
        if name.endswith('.py'):
            with open(os.path.join(package, name), 'rb') as f:
                yield 'gradloom/' + name, f.read()
    info = 'gradloom-%s.dist-info/' % field('version')
    yield info + 'METADATA', ('Metadata-Version: 2.1\nName: gradloom\nVersion: %s\nSummary: %s\nRequires-Python: %s\n'
                              'License: Apache-2.0\nRequires-Dist: numpy\n'
                              % (field('version'), field('description'), field('requires-python'))).encode()
    yield info + 'WHEEL', b'Wheel-Version: 1.0\nGenerator: gradloom\nRoot-Is-Purelib: true\nTag: py3-none-any\n'


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    name = 'gradloom-%s-py3-none-any.whl' % field('version')
    record = 'gradloom-%s.dist-info/RECORD' % field('version')
    lines = []
    with zipfile.ZipFile(os.path.join(wheel_directory, name), 'w', zipfile.ZIP_DEFLATED) as wheel:
        for path, content in files():
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()
            lines.append('%s,sha256=%s,%d\n' % (path, digest, len(content)))
            wheel.writestr(zipfile.ZipInfo(path), content)
        wheel.writestr(zipfile.ZipInfo(record), ''.join(lines) + record + ',,\n')
    return name
