#!/usr/bin/env python3
"""Writes a file's text as a C string: text.py FILE NAME RESULT."""
import json
import sys

source, name, result = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    lines = file.read().split("\n")
with open(result, "w", encoding="utf-8") as file:
    file.write("#define {0} \\\n".format(name))
    file.write(" \\\n".join("  " + json.dumps(line + "\n", ensure_ascii=False) for line in lines) + "\n")
