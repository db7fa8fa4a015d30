"""Two hosts on this machine, in homes of their own: Far without a network, a program `ssh` that runs the command; and Sshd, a real
sshd on the loopback with keys of its own. Connections are lost when the test says so, at states and not at times."""
import contextlib
import getpass
import os
import shutil
import signal
import socket
import subprocess
import time

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


def workers(run):
    """The processes that train in a run's folder, by the lock of its events."""
    path = os.path.join(run, "events.jsonl")
    inode = os.stat(path).st_ino if os.path.exists(path) else 0
    with open("/proc/locks", encoding="utf-8") as f:
        found = [int(line.split()[4]) for line in f if line.split()[1] == "FLOCK" and line.split()[5].endswith(":%d" % inode)]
    return [pid for pid in found if is_gradloom(pid)]


def is_gradloom(pid):
    """Files of other file systems may have the same number."""
    try:
        with open("/proc/%d/comm" % pid, encoding="utf-8") as f:
            return f.read().strip() == "gradloom"
    except OSError:
        return False


def end(runs):
    """Those of a part that has failed."""
    for run in runs:
        for pid in workers(run):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


class Far:
    down = "Network is unreachable"

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


SSHD = shutil.which("sshd") or "/usr/sbin/sshd"


def missing():
    """The programs that Sshd needs and this machine lacks."""
    return [p for p in (SSHD, "ssh", "ssh-keygen") if shutil.which(p) is None]


def write(path, text, mode=0o644):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def parent(pid):
    """The number and the name of the process that has started one."""
    fields = read("/proc/%d/stat" % pid).decode().rsplit(")", 1)[1].split()
    return int(fields[1]), read("/proc/%s/comm" % fields[1]).decode().strip()


class Sshd:
    """sshd, and an ssh that knows it as `box`, and as `locked` without the key."""
    down = "Connection refused"

    def __init__(self, folder, gradloom):
        self.folder, self.gradloom = folder, gradloom
        self.home, self.bin, tools = (os.path.join(folder, name) for name in ("there", "bin", "tools"))
        for path in (self.home, self.bin, tools):
            os.makedirs(path)
        for key in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", os.path.join(folder, key)], check=True)
        self.install()
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        write(os.path.join(folder, "sshd_config"), "\n".join((
            "ListenAddress 127.0.0.1", "Port %d" % self.port, "HostKey %s/host" % folder, "PidFile none", "StrictModes no",
            "AuthorizedKeysFile %s/authorized" % folder, "PermitRootLogin yes", "PasswordAuthentication no",
            "KbdInteractiveAuthentication no", "UsePAM no",
            "SetEnv PATH=%s:/usr/bin:/bin XDG_STATE_HOME=%s/state XDG_CACHE_HOME=%s/cache" % (self.bin, self.home, self.home), "")))
        shutil.copy(os.path.join(folder, "user.pub"), os.path.join(folder, "authorized"))
        write(os.path.join(folder, "known"), "[127.0.0.1]:%d %s" % (self.port, read(os.path.join(folder, "host.pub")).decode()))
        write(os.path.join(folder, "ssh_config"), "Host box locked\n HostName 127.0.0.1\n Port %d\n User %s\n IdentitiesOnly yes\n"
              " UserKnownHostsFile %s/known\n IdentityAgent none\nHost box\n IdentityFile %s/user\nHost locked\n IdentityFile %s/host\n"
              % (self.port, getpass.getuser(), folder, folder, folder))
        write(os.path.join(tools, "ssh"), '#!/bin/sh\nexec %s -F %s/ssh_config "$@"\n' % (shutil.which("ssh"), folder), 0o755)
        self.path = tools + ":" + os.environ["PATH"]
        if os.getuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        self.sshd, self.fault = None, ""
        self.set_down(False)

    def set_down(self, down):
        """No new connection succeeds. A sshd that does not start leaves its last line in `fault`."""
        if down:
            self.sshd.kill()
            self.sshd.wait()
            return
        log = os.path.join(self.folder, "log")
        with open(log, "w", encoding="utf-8") as f:
            self.sshd = subprocess.Popen([SSHD, "-D", "-e", "-f", os.path.join(self.folder, "sshd_config")], stderr=f, stdout=f)
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                if self.sshd.poll() is not None:
                    self.fault = read(log).decode().strip().split("\n")[-1] or "it has ended"
                    return
                time.sleep(0.02)

    def install(self, text=None):
        """The program there; None: this one."""
        write(os.path.join(self.bin, "gradloom"), text or '#!/bin/sh\nexec %s "$@"\n' % self.gradloom, 0o755)

    def relays(self):
        """The processes there that carry a worker's messages."""
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if b"\0remote\0relay\0" in read("/proc/%s/cmdline" % pid) and self.home.encode() in read("/proc/%s/environ" % pid):
                    found.append(int(pid))
            except OSError:
                pass  # it has ended
        return found

    def lose(self):
        """Ends the sshd of the connections that carry messages, and not what it has started."""
        for pid in self.relays():
            pid, name = parent(pid)
            while not name.startswith("sshd"):
                pid, name = parent(pid)
            os.kill(pid, signal.SIGKILL)

    def runs(self):
        folder = os.path.join(self.home, "state", "gradloom", "remote")
        return [os.path.join(folder, name, "run") for name in sorted(os.listdir(folder))] if os.path.isdir(folder) else []
