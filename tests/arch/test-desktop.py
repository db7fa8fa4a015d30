#!/usr/bin/env python3
"""What a desktop and a software centre know of Studio is valid, in all languages, and works.

  test-desktop.py SOURCE_ROOT BUILD_ROOT
"""
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml

SOURCE, BUILD = sys.argv[1], sys.argv[2]
DESKTOP = os.path.join(SOURCE, 'data', 'desktop')
BUILT = os.path.join(BUILD, 'data', 'desktop')
METAINFO = os.path.join(BUILT, 'org.gradloom.Studio.metainfo.xml')
LONGEST_SUMMARY = 35  # characters, in all software centres
PICTURE = (1000, 700)


class Skipped(Exception):
    pass


def output(*words, **more):
    if shutil.which(words[0]) is None:
        raise Skipped('%s is not installed' % words[0])
    p = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, **more)
    assert p.returncode == 0, '%s: %s' % (' '.join(words), p.stdout)
    return p.stdout


def png_size(path):
    with open(path, 'rb') as f:
        head = f.read(24)
    assert head[1:4] == b'PNG', path
    return struct.unpack('>II', head[16:])


def metainfo_is_valid():
    output('appstreamcli', 'validate', '--no-net', METAINFO)


def entry_is_valid():
    output('desktop-file-validate', os.path.join(BUILT, 'org.gradloom.Studio.desktop'))


def summaries_are_short():
    summaries = xml.parse(METAINFO).getroot().findall('summary')
    assert len(summaries) > 1, 'the summary is not translated'
    for one in summaries:
        assert len(one.text) <= LONGEST_SUMMARY, '“%s” has %d characters' % (one.text, len(one.text))


def pictures_are_windows():
    with open(os.path.join(DESKTOP, 'org.gradloom.Studio.metainfo.xml.in'), encoding='utf-8') as f:
        names = re.findall(r'@HOMEPAGE@/pictures/(\w+)\.png', f.read())
    assert len(names) > 2
    assert sorted(n + '.png' for n in names) == sorted(os.listdir(os.path.join(DESKTOP, 'pictures')))
    for name in names:
        size = png_size(os.path.join(DESKTOP, 'pictures', name + '.png'))
        assert size == PICTURE, '%s is %d×%d' % ((name,) + size)


def graphs_are_recognised():
    with tempfile.TemporaryDirectory() as home:
        packages = os.path.join(home, 'mime', 'packages')
        os.makedirs(packages)
        shutil.copy(os.path.join(BUILT, 'org.gradloom.Studio.xml'), packages)
        output('update-mime-database', os.path.join(home, 'mime'))
        for name in ('spirals.gradloom.xml', 'spirals'):
            graph = os.path.join(home, name)
            shutil.copy(os.path.join(SOURCE, 'graphs', 'lessons', 'spirals.xml'), graph)
            found = output('gio', 'info', '-a', 'standard::content-type', graph, env=dict(os.environ, XDG_DATA_HOME=home))
            assert 'application/x-gradloom-graph+xml' in found, found


def thumbnailer_draws():
    with open(os.path.join(DESKTOP, 'org.gradloom.Studio.thumbnailer'), encoding='utf-8') as f:
        words = re.search('^Exec=(.*)$', f.read(), re.M).group(1).split()
    if not os.path.exists(os.path.join(BUILD, 'app', 'gradloom-picture')):
        raise Skipped('pictures are not built')
    with tempfile.TemporaryDirectory() as folder:
        drawn = os.path.join(folder, 'thumbnail.png')
        values = {'%s': '128', '%o': drawn, '%i': os.path.join(SOURCE, 'graphs', 'models', 'fashion-lenet.xml'),
                  'gradloom': os.path.join(BUILD, 'app', 'gradloom')}
        output(*[values.get(w, w) for w in words])
        assert max(png_size(drawn)) == 128


CASES = (metainfo_is_valid, entry_is_valid, summaries_are_short, pictures_are_windows, graphs_are_recognised, thumbnailer_draws)
failed = 0
print('1..%d' % len(CASES))
for number, case in enumerate(CASES, 1):
    name = '/desktop/' + case.__name__.replace('_', '-')
    try:
        case()
        print('ok %d %s' % (number, name))
    except Skipped as reason:
        print('ok %d %s # SKIP %s' % (number, name, reason))
    except AssertionError as reason:
        failed += 1
        print('# ' + '\n# '.join(str(reason).split('\n')))
        print('not ok %d %s' % (number, name))
sys.exit(1 if failed else 0)
