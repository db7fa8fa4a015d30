"""A host without a network: a program `ssh` that runs the command on this machine in another home. Its connections are lost when
the test says so, at states and not at times."""
import os
import signal

SSH = """#!/bin/sh
# ssh OPTIONS -- HOST gradloom WORDS
batch=no
while [ "$1" != -- ]; do
  [ "$1" != BatchMode=yes ] || batch=yes
  shift
done
host=$2
shift 3
if [ $batch = no ] || [ -e '%(home)s/down' ]; then
  echo "ssh: connect to host $host port 22: Network is unreachable" >&2
  exit 255
fi
%(noise)s
export HOME='%(home)s' XDG_STATE_HOME='%(home)s/state' XDG_CACHE_HOME='%(home)s/cache'
echo $$ $host "$@" >> '%(home)s/connections'
exec '%(gradloom)s' "$@"
"""


class Far:
    def __init__(self, folder, gradloom, noise=""):
        self.home, self.tools = os.path.join(folder, "far"), os.path.join(folder, "tools")
        self.gradloom = gradloom
        for path in (self.home, self.tools):
            os.makedirs(path)
        self.path = self.tools + ":" + os.environ["PATH"]
        self.install(noise)

    def install(self, noise=""):
        """noise: what the shell of the host does first."""
        path = os.path.join(self.tools, "ssh")
        with open(path + ".new", "w", encoding="utf-8") as f:
            f.write(SSH % {"home": self.home, "gradloom": self.gradloom, "noise": noise})
        os.chmod(path + ".new", 0o755)
        os.rename(path + ".new", path)

    def connections(self, word):
        """The processes of `gradloom remote WORD` there, the newest last."""
        try:
            with open(os.path.join(self.home, "connections"), encoding="utf-8") as f:
                lines = [line.split() for line in f]
        except FileNotFoundError:
            return []
        return [int(words[0]) for words in lines if words[2:4] == ["remote", word]]

    def set_down(self, down):
        """No new connection succeeds."""
        mark = os.path.join(self.home, "down")
        if down:
            open(mark, "w", encoding="utf-8").close()
        else:
            os.remove(mark)

    def lose(self):
        """Ends the connection that carries the worker's messages."""
        os.kill(self.connections("relay")[-1], signal.SIGKILL)

    def runs(self):
        folder = os.path.join(self.home, "state", "gradloom", "remote")
        return [os.path.join(folder, name, "run") for name in sorted(os.listdir(folder))] if os.path.isdir(folder) else []
