"""What an attacker tries who writes commands: each works where nothing confines it, unless it says otherwise.

`{outside}` and its like are filled in from the cell; WIN and its like in Python make the
canary out of two pieces, so that the words of a command are no leak.
"""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Attack:
    """Commands run one after the other. `real`: without confinement they leak, change or reach something."""

    name: str
    commands: tuple[str, ...]
    real: bool = True
    python: bool = False


def shell(name: str, *commands: str, real: bool = True) -> Attack:
    return Attack(name, commands, real)


def python(name: str, code: str, *, real: bool = True) -> Attack:
    """A program without double quotes and backslashes."""
    begin = "import ctypes, fcntl, mmap, os, resource, signal, socket, sys; WIN = 'canary' + '7f3a'; libc = ctypes.CDLL(None, use_errno=True)\n"
    return Attack(name, (f'python3 -c "{begin}{code}"',), real, python=True)


ECHO = 'echo can""ary7f3a'

READS = (
    shell("a denied file", "cat .env"),
    shell("a file denied by the folder's own file", "cat config/secret.txt"),
    shell("a file denied by configuration", "cat data.dump"),
    shell("a file in a denied folder", "cat private/known.txt"),
    shell("the names in a denied folder", "ls -a private; find . -name '*7f3a*'; echo private/*"),
    shell("a file outside", "cat {outside}/secret.txt"),
    shell("a file outside, by going up", "cat ../outside/secret.txt; cd ..; cat outside/secret.txt"),
    shell("names outside", "ls {outside}/folder; ls -R {base}"),
    shell("a program outside", "{outside}/program"),
    shell("a copy", "cp .env open/c; cp {outside}/secret.txt open/d; cat open/c open/d"),
    shell("links that are there", "cat src/link src/out"),
    shell("links made inside", "ln -s ../.env open/x; ln -s {outside} open/o; cat open/x open/o/secret.txt"),
    shell("a hard link that is there", "cat src/hard.txt"),
    shell("hard links made inside", "ln .env open/h; ln {outside}/secret.txt open/i; cat open/h open/i"),
    python(
        "a hard link made by descriptor",
        "fd = os.open('.env', os.O_PATH)\n"
        "libc.linkat(-100, f'/proc/self/fd/{{fd}}'.encode(), -100, b'open/h', 0x400)\n"
        "libc.linkat(fd, b'', -100, b'open/j', 0x1000)\n"
        "print(open('open/h').read())",
    ),
    shell("a denied file renamed", "mv .env open/e; cat open/e"),
    shell("a denied folder renamed", "mv private open/p; cat open/p/*; mv config open/c; cat open/c/secret.txt"),
    shell("the folder above renamed", "mv {root} {base}/r; cat {base}/r/.env; mv {base}/r {root}"),
    python(
        "a denied file exchanged with another",
        "libc.renameat2(-100, b'.env', -100, b'open/b.txt', 2)\nprint(open('open/b.txt').read())",
    ),
    shell("the policy emptied", "echo > .readroomignore; rm -f .readroomignore; mv .readroomignore x", "cat private/known.txt"),
    shell("the configuration emptied", "echo > readroom.toml; rm -f readroom.toml; mv readroom.toml x", "cat data.dump"),
    shell("/proc/self/root", "cat /proc/self/root{outside}/secret.txt /proc/self/cwd/.env"),
    shell("/proc/1/root", "cat /proc/1/root{outside}/secret.txt /proc/1/cwd{outside}/secret.txt", real=False),
    shell("the root and folder of another process", "cat /proc/{server}/root{outside}/secret.txt /proc/{victim}/root{outside}/secret.txt"),
    shell("the environment of readroom", "cat /proc/{server}/environ /proc/{victim}/environ | grep -a -o {canary}"),
    shell("the environment of any process", "cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ | grep -a -o {canary}"),
    shell("its own environment", "env; set; export -p", real=False),
    shell("the words of other processes", "cat /proc/{server}/cmdline | grep -q . && " + ECHO),
    shell("descriptors of readroom", "for f in /proc/{server}/fd/*; do [ -f $f ] && timeout 1 head -c 99 $f; done"),
    shell("descriptors of any process", "for f in /proc/[0-9]*/fd/*; do [ -f $f ] && timeout 1 grep -a -o -m1 {canary} $f; done"),
    shell("descriptors that are passed on", "for f in 3 4 5 6 7 8 9; do (eval 'cat <&'$f); done; ls -l /proc/self/fd", real=False),
    python(
        "the memory of another process",
        "pid = {victim}\n"
        "print(libc.ptrace(16, pid, 0, 0) or WIN); os.waitpid(pid, 0x40000000); libc.ptrace(17, pid, 0, 0)",
    ),
    python(
        "the memory of another process without stopping it",
        "[(a, b)] = [line.split()[0].split('-') for line in open('/proc/{victim}/maps') if '[stack]' in line]\n"
        "m = open('/proc/{victim}/mem', 'rb'); m.seek(int(a, 16))\n"
        "print(WIN if WIN.encode() in m.read(int(b, 16) - int(a, 16)) else '')",
    ),
    python(
        "a descriptor taken from another process",
        "for fd in range(3, 30):\n"
        " held = libc.syscall(438, libc.syscall(434, {server}, 0), fd, 0)\n"
        " if held >= 0: print(os.pread(held, 99, 0) if os.path.isfile(f'/proc/self/fd/{{held}}') else '')",
    ),
    python(
        "a file by its handle",
        "import struct\n"
        "mount = os.open('.', os.O_RDONLY); b = ctypes.create_string_buffer(struct.pack('=Ii', 120, 0), 136)\n"
        "assert libc.name_to_handle_at(-100, b'{outside}/secret.txt', b, ctypes.byref(ctypes.c_int()), 0) == 0\n"
        "print(os.read(libc.open_by_handle_at(mount, b, 0), 99))",
        real=False,
    ),
    shell(
        "mounts",
        "mount --bind {outside} open; umount -l .env; umount .env; mount -t tmpfs none /tmp; cat .env open/secret.txt",
        real=False,
    ),
    shell(
        "mounts in a name space of its own",
        "unshare -Urm sh -c 'umount -l .env; umount -l private; cat .env private/*; mkdir open/m; "
        "mount --bind {outside} open/m; cat open/m/secret.txt; mount -t proc proc open/m; cat open/m/1/root{outside}/secret.txt'",
    ),
    shell(
        "a process name space of its own",
        "unshare -Urpmf --mount-proc sh -c 'cat .env; cat {outside}/secret.txt'",
    ),
    shell("another root", "chroot . /bin/sh -c 'cat .env'; chroot {base} cat outside/secret.txt; "
          "unshare -Ur chroot / cat {outside}/secret.txt"),
    python(
        "a mount taken as a descriptor",
        "libc.unshare(0x10020000)\n"
        "fd = libc.syscall(428, -100, b'{outside}', 1)\n"
        "print(os.read(os.open('secret.txt', 0, dir_fd=fd), 99))",
        real=False,
    ),
    shell("the name spaces of another process", "nsenter -t {server} -m -p cat {outside}/secret.txt; nsenter -t 1 -a cat {outside}/secret.txt", real=False),
    shell("the disk itself", "mknod open/disk b 254 0; mknod open/disk b 8 0; grep -a -m1 -o {canary} open/disk; grep -a -m1 -o {canary} /dev/mem", real=False),
    python(
        "shared memory of a process outside",
        "libc.shmat.restype = ctypes.c_void_p; at = libc.shmat({memory}, 0, 0)\n"
        "print(ctypes.string_at(at, 10)) if at and at < 1 << 63 else None",
    ),
    python("messages of a process outside", "b = ctypes.create_string_buffer(40); libc.msgrcv({messages}, b, 10, 0, 0x800); print(b.raw)"),
    python("semaphores of a process outside", "libc.semctl({semaphore}, 0, 12, 0) == 77 and print(WIN)"),
    python("a queue of a process outside", "libc.mq_open(b'/{queue}', 0x800, 0, None) >= 0 and print(WIN)"),
    python("a queue of a process outside removed", "libc.mq_unlink(b'/{queue}') == 0 and print(WIN)"),
    python(
        "names in folders that are watched",
        "fd = libc.inotify_init1(0o4000); os.symlink('../private', 'open/way')\n"
        "for name in ('private', 'private/known.txt', '.env', '{outside}', '/proc/self/cwd/private', 'src/link', 'src/out', 'open/way'):\n"
        " libc.inotify_add_watch(fd, name.encode(), 0xFFF) >= 0 and os.stat(name).st_ino in {inodes} and print(WIN)",
    ),
    python(
        "names in folders that are watched by the newer kind",
        "fd = libc.fanotify_init(0x200, 0)\n"
        "for name in ('private', '.env', '{outside}'):\n"
        " libc.fanotify_mark(fd, 1, ctypes.c_uint64(2), -100, name.encode()) == 0 and os.stat(name).st_ino in {inodes} and print(WIN)",
    ),
    python(
        "attributes of denied files",
        "for name in ('.env', 'private/known.txt', '{outside}/secret.txt'):\n"
        " if not os.path.exists(name) or os.stat(name).st_ino not in {inodes}: continue\n"
        " for call in (libc.listxattr, libc.llistxattr): call(name.encode(), None, 0) >= 0 and print(WIN)\n"
        " for call in (libc.getxattr, libc.lgetxattr): call(name.encode(), b'user.none', None, 0) >= 0 or ctypes.get_errno() == 61 and print(WIN)\n"
        " fd = os.open(name, os.O_PATH); libc.listxattr(b'/proc/self/fd/%d' % fd, None, 0) >= 0 and print(WIN)",
    ),
    python(
        "attributes and flags of denied files by newer calls",
        "n = b'{outside}/secret.txt'; a = (ctypes.c_uint64 * 8)()\n"
        "libc.syscall(465, -100, n, 0, None, 0) >= 0 and print(WIN)\n"
        "libc.syscall(468, -100, n, a, 24, 0) >= 0 and print(WIN)",
        real=False,  # there since Linux 6.13 and 6.17
    ),
    shell("messages of the kernel", "dmesg | grep -q . && " + ECHO, real=False),
    python("the memory of another process by another call", "a = (ctypes.c_uint64 * 2)(); libc.syscall(312 if os.uname().machine == 'x86_64' else 272, os.getpid(), {victim}, 1, 0, 0) >= 0 and print(WIN)"),
    python(
        "pages of another process moved",
        "x86 = os.uname().machine == 'x86_64'; m = (ctypes.c_ulong * 1)(1)\n"
        "libc.syscall(256 if x86 else 238, {victim}, 64, m, m) >= 0 and print(WIN)",
        real=False,  # kernels without NUMA do not have it
    ),
    python("where another process is", "print(WIN if os.readlink('/proc/{victim}/cwd') and os.readlink('/proc/{victim}/exe') else '')"),
    shell("outputs and homes of other sessions", "cat /tmp/readroom-run-*/outputs/* /tmp/readroom-run-*/home/*; ls /tmp/readroom-*", real=False),
)  # fmt: skip

CHANGES = (
    shell("writing to a denied file", "echo x >> .env"),
    shell("emptying a denied file", "truncate -s 0 .env; : > private/known.txt"),
    shell("removing denied files", "rm -rf .env private config/secret.txt data.dump"),
    shell("removing the folder with a denied file", "rm -rf config; rm -rf ../root"),
    shell("a file made outside", "echo x > {outside}/new; mkdir {outside}/made; touch ../outside/t"),
    shell("a file changed outside", "echo x >> {outside}/secret.txt; echo x >> src/out"),
    shell("a file removed outside", "rm -rf {outside}/secret.txt {outside}/folder"),
    shell("a file replaced outside", "cp open/b.txt {outside}/secret.txt; mv open/b.txt {outside}/secret.txt"),
    shell("the internals of version control", "echo x > .git/hooks/pre-commit; echo x > .git/hooks/post-commit; echo x >> .git/config"),
    shell("version control replaced", "mv .git old; mkdir .git; echo x > .git/config; rm -rf .git"),
    shell("modes", "chmod 777 .env private/known.txt data.dump {outside}/secret.txt {outside} .git/config .readroomignore; chmod -R 000 private"),
    shell("a program that runs as its owner", "chmod 6755 {outside}/program /proc/self/root{outside}/program ../outside/program"),
    shell("modes through links", "chmod 777 src/link src/out src/hard.txt"),
    python("modes by descriptor", "for name in ('.git/config', 'readroom.toml', '.git'): os.fchmod(os.open(name, os.O_RDONLY), 0o777)"),
    python("modes by a descriptor of the name only", "fd = os.open('{outside}/secret.txt', os.O_PATH); os.chmod(f'/proc/self/fd/{{fd}}', 0o777)"),
    python("modes by the newest call", "libc.syscall(452, -100, b'{outside}/secret.txt', 0o777, 0)"),
    shell("times", "touch -d 2001-01-01 {outside}/secret.txt .env .git/config"),
    python("times by descriptor", "os.utime(os.open('.git/config', os.O_RDONLY), (1, 1))"),
    python("times by older calls", "libc.utimes(b'{outside}/secret.txt', None); libc.utime(b'.git/config', None)"),
    python(
        "modes while a link is turned to and fro",
        "import threading\n"
        "def turn():\n"
        " for n in range(900): os.symlink(('b.txt', '{outside}/secret.txt')[n % 2], 'open/t'); os.replace('open/t', 'open/l')\n"
        "t = threading.Thread(target=turn); t.start()\n"
        "while t.is_alive():\n"
        " libc.chmod(b'open/l', 0o600); libc.chmod(b'open/l', 0o640)",
        real=False,  # it is won now and then only
    ),
    python(
        "modes while the name is rewritten in memory",
        "import threading\n"
        "one, two = b'open/b.txt' + bytes(50), b'{outside}/secret.txt' + bytes(9)\n"
        "name = ctypes.create_string_buffer(one, 200)\n"
        "def turn():\n"
        " for n in range(30000): name.value = (one, two)[n % 2].strip(bytes(1))\n"
        "t = threading.Thread(target=turn); t.start()\n"
        "while t.is_alive():\n"
        " libc.chmod(name, 0o600); libc.chmod(name, 0o640)",
        real=False,  # it is won now and then only
    ),
    python(
        "modes from another folder and another root",
        "fd = os.open('{outside}', os.O_PATH); os.chmod('secret.txt', 0o600, dir_fd=fd)\n"
        "libc.syscall(452, fd, b'', 0o700, 0x1000)\n"
        "libc.unshare(0x10000000); libc.chroot(b'{outside}'); libc.chmod(b'/secret.txt', 0o600)",
    ),
    python(
        "calls that make no sense",
        "for number in (90, 91, 92, 93, 94, 132, 235, 260, 261, 268, 280, 452, 52, 53, 54, 55, 88):\n"
        " for args in ((77, 0, 0, 0, 0), (-1, -1, -1, -1, -1), (-100, 1, 2, 3, 4), (8, -8, 1 << 62, 0, 0x1000), (-100, id(number), 0, -1, 0x1100)):\n"
        "  libc.syscall(number, *(ctypes.c_long(a) for a in args))",
        real=False,
    ),
    shell("modes of devices", "chmod 666 /dev/null /dev/zero /dev/full /dev/random /dev/urandom /dev/tty", real=False),
    python("modes of what its input is", "os.fchmod(0, 0o666)", real=False),
    shell("owners", "chown 12345 {outside}/secret.txt .git/config; chgrp 12345 .env", real=False),
    python("attributes", "os.setxattr('{outside}/secret.txt', 'user.x', b'y'); os.setxattr('.git/config', 'user.x', b'y')"),
    python("attributes by descriptor", "os.setxattr(os.open('.git/config', os.O_RDONLY), 'user.x', b'y')"),
    python("attributes by the newest call", "v = ctypes.create_string_buffer(b'y'); a = (ctypes.c_uint64 * 2)(ctypes.addressof(v), 1)\n"
           "libc.syscall(463, -100, b'{outside}/secret.txt', 0, b'user.x', a, 16)"),
    python(
        "flags of a file",
        "fd = os.open('.git/config', os.O_RDONLY); b = bytearray(8); fcntl.ioctl(fd, 0x80086601, b)\n"
        "fcntl.ioctl(fd, 0x40086602, (int.from_bytes(b, 'little') | 0x80).to_bytes(8, 'little')); print(WIN)",
    ),
    shell("settings of the system", "for f in /proc/sysrq-trigger /proc/sys/kernel/core_pattern /proc/sys/vm/drop_caches /sys/power/state; do (exec 3>>$f) && "
          + ECHO + "; done; true", real=False),
)  # fmt: skip

PROCESSES = (
    shell("a signal to a process outside", "kill -9 {victim}"),
    shell("a signal to readroom", "kill -0 {server} && " + ECHO),
    shell("a signal to what started it", "kill -9 $PPID", real=False),
    python("a signal by descriptor", "libc.syscall(424, libc.syscall(434, {victim}, 0), 0, 0, 0) or print(WIN)"),
    python("limits of a process outside", "resource.prlimit({victim}, resource.RLIMIT_NOFILE, (9, 9)); print(WIN)"),
    python("the order of a process outside", "os.setpriority(os.PRIO_PROCESS, {victim}, 19); print(WIN)"),
    python("the order of another group", "os.setpriority(os.PRIO_PGRP, os.getpgid({victim}), 19); print(WIN)"),
    python("the processors of a process outside", "os.sched_setaffinity({victim}, os.sched_getaffinity({victim})); print(WIN)"),
    python("the scheduler of a process outside", "os.sched_setscheduler({victim}, os.SCHED_BATCH, os.sched_param(0)); print(WIN)"),
    python("the scheduling parameters of a process outside", "os.sched_setparam({victim}, os.sched_param(0)); print(WIN)"),
    python(
        "the scheduling attributes of a process outside",
        "import struct; b = struct.pack('=IIQiIQQQ', 48, 3, 0, 0, 0, 0, 0, 0)\n"
        "libc.syscall(314 if os.uname().machine == 'x86_64' else 274, {victim}, b, 0) == 0 and print(WIN)",
    ),
    python(
        "scheduling by numbers with more than a number",
        "libc.syscall(203 if os.uname().machine == 'x86_64' else 122, ctypes.c_long({victim} | 0x5A << 40), 8, (ctypes.c_long * 1)(1)) == 0 and print(WIN)",
    ),
    python("the processors of readroom", "os.sched_setaffinity({server}, {{0}}); print(WIN)"),
    python("turns at the disk of a process outside", "libc.syscall(251 if os.uname().machine == 'x86_64' else 30, 1, {victim}, 3 << 13) == 0 and print(WIN)"),
    python("the abstract socket of a process outside", "socket.socket(socket.AF_UNIX).connect(chr(0) + '{abstract}')"),
    python("the socket of a process outside", "socket.socket(socket.AF_UNIX).connect('{socket}')"),
    python("the abstract socket of a process outside, from a pair", "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].sendto(b'x', chr(0) + '{abstract}-datagrams')"),
    python("the socket of a process outside, from a pair", "socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0].connect('{socket}-datagrams'); print(WIN)"),
    python("the socket of a process outside, from a raw pair", "socket.socketpair(socket.AF_UNIX, socket.SOCK_RAW)[0].sendto(b'x', '{socket}-datagrams'); print(WIN)"),
    python("a port of this machine", "socket.create_connection(('127.0.0.1', {port}), 5)"),
    python("a datagram to a port of this machine", "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))"),
    python("raw packets", "socket.socket(socket.AF_PACKET, socket.SOCK_RAW); print(WIN)", real=False),
    python("rings of the kernel", "p = ctypes.create_string_buffer(120); libc.syscall(425, 4, p) >= 0 and print(WIN)", real=False),
    python("keys of the user", "libc.syscall(250, 0, -4, 1) > 0 and print(WIN)"),
    python("the terminal", "fd = os.open('/dev/tty', os.O_RDWR); fcntl.ioctl(fd, 0x5412, b'x'); os.write(fd, b'x')", real=False),
    python("the terminal by its name", "fd = os.open('{tty}', os.O_RDWR | os.O_NOCTTY); os.write(fd, b'x')"),
)  # fmt: skip


def raising(name: str, code: str, *, real: bool = True, new: bool = False, where: str = "open") -> Attack:
    """A call that takes a mode, with each of the two bits that make a program run as its owner.

    `f` is the name of a file (bytes), which is not there yet when it is `new`; `call` is any call by its number.
    """
    lines = [
        "call = lambda *args: libc.syscall(*(ctypes.c_long(a) if isinstance(a, int) else a for a in args))",
        "x86 = os.uname().machine == 'x86_64'",
        "for mode in (0o4755, 0o2755, 0o6755, 0o7777):",
        f" f = os.fsencode(os.path.expandvars('{where}') + '/made%d' % mode)",
        " try:",
        *([] if new else ["  open(f, 'w').close()"]),
        *(f"  {line}" for line in code.split("\n")),
        " except OSError: pass",
        " if os.path.exists(f) and os.stat(f).st_mode & 0o6000: print(WIN)",
    ]
    return python(f"set-user-id by {name}", "\n".join(lines), real=real)


_CAPABILITY = "data = bytes.fromhex('0100000200040000000000000000000000000000')"
"""All that a file needs to let its program read every file of the machine."""

_IN_32_BITS = (
    "m = mmap.mmap(-1, 4096, prot=7); b = ctypes.c_char.from_buffer(m); at = ctypes.addressof(b)\n"
    "low = libc.mmap; low.restype = ctypes.c_void_p\n"
    "name = low(None, ctypes.c_size_t(4096), 3, 0x62, -1, ctypes.c_long(0)); ctypes.memmove(name, f, len(f) + 1)\n"
    "m.write(bytes.fromhex('53b80f000000bb') + name.to_bytes(4, 'little') + bytes.fromhex('b9') + mode.to_bytes(4, 'little') + bytes.fromhex('cd805bc3'))\n"
    "ctypes.CFUNCTYPE(ctypes.c_int)(at)() if x86 else None"
)
"""chmod(name, mode) as programs of 32 bits call it: int 0x80."""

RAISES = (
    shell("a copy of the shell that runs as its owner", "cp /bin/sh open/su; chmod 4755 open/su", "cp /bin/sh open/sg; chmod u+s,g+s open/sg"),
    shell("installed as its owner", "install -m 6755 /bin/sh open/su", real=True),
    shell("unpacked as its owner", "cd open; cp /bin/sh su; chmod 6755 su; tar -cf a.tar --mode=6755 su; rm su; tar -xpf a.tar; rm a.tar"),
    shell("a folder that hands on its group", "chmod g+s open; chmod 2777 src"),
    shell("as its owner in a name space of its own", "cp /bin/sh open/su; unshare -Ur chmod 6755 open/su; unshare -Urm chmod 4755 open/su"),
    raising("chmod", "libc.chmod(f, mode)"),
    raising("chmod of a file in its home", "libc.chmod(f, mode)", where="$HOME"),
    raising("chmod of a temporary file", "libc.chmod(f, mode)", where="$TMPDIR"),
    raising("chmod by number", "call(90, f, mode) if x86 else libc.chmod(f, mode)"),
    raising("chmod with more than a mode", "call(90, f, mode | 0x5A5A5A5A00010000) if x86 else libc.chmod(f, mode)"),
    raising("chmod through a link of /proc", "libc.chmod(b'/proc/self/fd/%d' % os.open(f, os.O_PATH), mode)"),
    raising("fchmod", "libc.fchmod(os.open(f, os.O_RDWR), mode)"),
    raising("fchmodat", "libc.fchmodat(os.open('open', os.O_PATH), os.path.basename(f), mode, 0)"),
    raising("fchmodat2", "call(452, -100, f, mode, 0)"),
    raising("fchmodat2 of a descriptor", "call(452, os.open(f, os.O_PATH), b'', mode, 0x1000)"),
    raising("open", "libc.open(f, os.O_CREAT | os.O_WRONLY, mode)", new=True),
    raising("open by number", "call(2, f, os.O_CREAT | os.O_WRONLY, mode) if x86 else libc.open(f, os.O_CREAT | os.O_WRONLY, mode)", new=True),
    raising("open with more than flags", "call(2, f, 0x5A5A5A5A00000000 | os.O_CREAT | os.O_WRONLY, mode | 0x5A00000000) if x86 else libc.open(f, os.O_CREAT | os.O_WRONLY, mode)", new=True),
    raising("creat", "call(85, f, mode) if x86 else libc.creat(f, mode)", new=True),
    raising("openat", "libc.openat(-100, f, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode)", new=True),
    raising("openat2", "how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_RDWR, mode, 0)\ncall(437, -100, f, ctypes.byref(how), 24)", new=True),
    raising(
        "openat2 whose mode changes meanwhile",
        "import threading\n"
        "how = (ctypes.c_uint64 * 3)(os.O_CREAT | os.O_RDWR, 0o755, 0)\n"
        "turn = lambda: [how.__setitem__(1, (0o755, mode)[n % 2]) for n in range(3000)]\n"
        "t = threading.Thread(target=turn); t.start()\n"
        "while t.is_alive(): (os.path.exists(f) and not os.stat(f).st_mode & 0o6000 and os.unlink(f)); call(437, -100, f, ctypes.byref(how), 24)",
        new=True,
        real=False,  # it is won now and then only
    ),
    raising("a file without a name", "fd = os.open('open', os.O_TMPFILE | os.O_RDWR, mode)\nlibc.linkat(-100, b'/proc/self/fd/%d' % fd, -100, f, 0x400)", new=True),
    raising("mknod", "call(133, f, mode | 0o100000, 0) if x86 else libc.mknod(f, mode | 0o100000, 0)", new=True),
    raising("mknodat", "call(259 if x86 else 33, -100, f, mode | 0o100000, 0)", new=True),
    raising("mkfifo", "libc.mkfifo(f, mode)", new=True),
    raising("mkdir", "libc.mkdir(f, mode)", new=True, real=False),  # the kernel leaves both bits out
    raising("mkdirat", "libc.mkdirat(-100, f, mode)", new=True, real=False),
    raising("chmod of a new folder", "os.mkdir(f); libc.chmod(f, mode)", new=True),
    raising("a call of 32 bits", _IN_32_BITS, real=False),  # there where the kernel still has them
    raising("a call of the x32 kind", "call(0x40000000 | 90, f, mode); call(0x40000000 | 268, -100, f, mode)", real=False),
    raising("a list of access", "os.setxattr(f, 'system.posix_acl_access', bytes.fromhex('0200000001000700ffffffff04000500ffffffff20000500ffffffff'))", real=False),
    *(
        python(
            f"capabilities of a file by {name}",
            f"f = b'open/b.txt'; key = b'security.capability'\n{_CAPABILITY}\n{code}",
            real=os.geteuid() == 0,  # who else may set them
        )
        for name, code in {
            "setxattr": "libc.setxattr(f, key, data, 20, 0)",
            "lsetxattr": "libc.lsetxattr(f, key, data, 20, 0)",
            "fsetxattr": "libc.fsetxattr(os.open(f, os.O_RDWR), key, data, 20, 0)",
            "setxattrat": "a = (ctypes.c_uint64 * 2)(ctypes.cast(data, ctypes.c_void_p).value, 20)\nlibc.syscall(463, -100, f, 0, key, a, 16)",
        }.items()
    ),
    python(
        "capabilities of a file in a name space of its own",
        f"libc.unshare(0x10000000)\n{_CAPABILITY}\n"
        "[open('/proc/self/' + n, 'w').write(t) for n, t in (('setgroups', 'deny'), ('uid_map', '0 %d 1' % os.getuid()))]\n"
        "libc.setxattr(b'open/b.txt', b'security.capability', data, 20, 0)",
        real=False,  # a name space of the user may be forbidden
    ),
)  # fmt: skip
"""Programs that run as who owns them for whoever starts them, also when the confinement is over."""

ATTACKS = (*READS, *CHANGES, *PROCESSES, *RAISES)
