"""Files for PyTorch, without PyTorch: every example graph is written and compiles, and a hostile graph puts nothing into its file.

    test-pytorch-files.py GRADLOOM FOLDER_OF_GRAPHS"""

import ast
import os
import subprocess
import sys
import tempfile

# Its texts try to end a comment or a literal, and its ids are words of Python and of nn.Module.
HOSTILE = """<?xml version="1.0" encoding="UTF-8"?>
<graph xmlns="urn:gradloom:graph" version="1" name="x&#10;evil()&#10;#">
  <doc>one&#13;evil()&#10;&quot;&quot;&quot;evil()&quot;&quot;&quot;&#8232;evil()</doc>
  <module name="class"><doc>two&#10;    evil()</doc>
    <node id="self" op="module_input"/><node id="train" op="linear" out_features="3"/><node id="return" op="module_output"/>
    <wire from="self" to="train"/><wire from="train" to="return"/>
  </module>
  <node id="import" op="dataset" source="csv" path="a&quot;&#10;evil()&#10;.csv" target="y&quot;)&#10;evil()"/>
  <node id="torch" op="linear" out_features="3" title="t&#10;evil()"/>
  <node id="0lambda" op="linear" out_features="3"/>
  <node id="def" module="class"/>
  <node id="nn" op="einsum" equation="bi,bi-&gt;b"/>
  <node id="F" op="expression" formula="evil * lambda + nn"/>
  <node id="forward" op="parameter" shape="1"/>
  <node id="print" op="sum"/>
  <wire from="import.x" to="torch"/>
  <wire from="torch" to="0lambda"/>
  <wire from="0lambda" to="def"/>
  <wire from="def" to="nn.0"/>
  <wire from="torch" to="nn.1"/>
  <wire from="nn" to="F.evil"/>
  <wire from="forward" to="F.lambda"/>
  <wire from="nn" to="F.nn"/>
  <wire from="F" to="print"/>
  <train loss="print" optimizer="sgd" lr="0.1" weights="w&quot;&#10;evil()" match="torch,0lambda*"><group match="tor&#63;h" lr="0.2"/></train>
</graph>
"""


def export(program, path):
    done = subprocess.run([program, "export", path, "--to", "pytorch", "-o", "-"], capture_output=True, text=True,
                          env={**os.environ, "GRADLOOM_CPU_DEVICES": "2"})
    return done.returncode, done.stdout, done.stderr


def calls(tree):
    return {n.func.id for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}


def check_hostile(program):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "hostile.xml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(HOSTILE.replace('source="csv" path="a&quot;&#10;evil()&#10;.csv" target="y&quot;)&#10;evil()"', 'source="spirals"'))
        status, text, errors = export(program, path)
        assert status == 0, errors
        tree = ast.parse(text)
        assert "evil" not in calls(tree), "a text of the graph is called"
        assert text.isprintable() or all(c.isprintable() or c == "\n" for c in text)
        for statement in tree.body:
            assert isinstance(statement, (ast.Import, ast.ImportFrom, ast.ClassDef, ast.FunctionDef, ast.Assign, ast.If)), ast.dump(statement)
        # An unreadable table is a fault of the graph, in one sentence; nothing is printed to standard output.
        with open(path, "w", encoding="utf-8") as file:
            file.write(HOSTILE)
        status, text, errors = export(program, path)
        assert status == 1 and not text and "evil()\n" not in errors, (status, errors)


def main():
    program, graphs = sys.argv[1:3]
    paths = [os.path.join(graphs, kind, name) for kind in ("lessons", "models") for name in sorted(os.listdir(os.path.join(graphs, kind)))
             if name.endswith(".xml")]
    print(f"1..{len(paths) + 1}")
    failed = 0
    for i, path in enumerate(paths):
        status, text, errors = export(program, path)
        name = os.path.basename(path)
        try:
            assert status == 0, errors
            compile(text, name, "exec")
            print(f"ok {i + 1} {name}")
        except (AssertionError, SyntaxError) as error:
            failed += 1
            print(f"not ok {i + 1} {name}\n# {error}")
    try:
        check_hostile(program)
        print(f"ok {len(paths) + 1} a hostile graph")
    except (AssertionError, SyntaxError) as error:
        failed += 1
        print(f"not ok {len(paths) + 1} a hostile graph\n# {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
