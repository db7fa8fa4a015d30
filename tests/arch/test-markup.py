#!/usr/bin/env python3
"""Files of Studio that hand text to markup escape it, or are listed here with the reason why it holds no name of a document.

  test-markup.py SOURCE_ROOT
"""
import os
import re
import sys

SINKS = re.compile(r'_set_markup \(|adw_status_page_set_description \(|adw_toast_new \(|row_set_subtitle \(')
ESCAPES = re.compile(r'markup_escape|markup_printf_escaped|set_use_markup \([^;]*FALSE')
REASONS = {
    'page/studio-caption.c': 'its callers make the markup',
    'page/studio-presentation.c': 'caption_text_new() escapes',
    'page/studio-key-card.c': 'names of keys and commands',
    'export/studio-export-dialog.c': 'texts of the options of exports',
    'inspector/studio-inspector-node.c': 'documentation of operators, by studio_formula_markup()',
    'inspector/studio-inspector-value.c': 'the rows of studio-inspector-rows.c, which use no markup',
    'start/studio-weights-dialog.c': 'rows that use no markup, in the template',
    'start/studio-start-rows.c': 'texts of the templates of graphs',
    'timeline/studio-rank-losses.c': 'its own sentences',
    'canvas/studio-canvas.c': 'canvas_tooltip_dup_markup() escapes',
}


def main():
    root = os.path.join(sys.argv[1], 'ui')
    faults, used = [], set()
    for at, _, names in os.walk(root):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(at, name), root)
            if not name.endswith('.c'):
                continue
            with open(os.path.join(at, name), encoding='utf-8') as f:
                text = f.read()
            if SINKS.search(text) and not ESCAPES.search(text):
                used.add(path)
                if path not in REASONS:
                    faults.append('ui/%s sets markup and escapes nothing; escape what it shows, or list it with a reason' % path)
    faults += ['ui/%s is listed without need' % path for path in REASONS if path not in used]
    for fault in faults:
        print('# ' + fault)
    print('1..1\n%sok 1 - markup' % ('not ' if faults else ''))
    return bool(faults)


sys.exit(main())
