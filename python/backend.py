"""Builds the wheel, for `pip install .` and `make wheel` (PEP 517). The Makefile compiles, and this file packs.

The extension module uses the limited API, so that one wheel works with every Python from 3.9 on. If it needs no library but glibc,
its platform tag follows from the versions of the glibc symbols that it uses.
"""

import base64
import hashlib
import os
import re
import struct
import subprocess
import sys
import sysconfig
import tarfile
import zipfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = "build-wheel"
GLIBC = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "ld-linux-x86-64.so.2"}
# Omits the unwind tables for C++ exceptions, which never occur here (an eighth of the file), and does not inline functions with several callers.
# Drops functions that the package never calls, and optimises folders that hardly matter for compile time for size.
CFLAGS = "-O2 -fno-asynchronous-unwind-tables -fno-inline-functions -ffunction-sections -fdata-sections"
LDFLAGS = "-Wl,--gc-sections -Wl,--no-eh-frame-hdr -Wl,-T,python/native/no_unwind.ld"
LIMIT = 2000000  # largest wheel, in bytes
EPOCH = (1980, 1, 1, 0, 0, 0)  # a fixed time, so that the same sources make the same file


def version():
    with open(os.path.join(ROOT, "include/loopwright.h"), encoding="utf-8") as file:
        return ".".join(re.findall(r"define LW_VERSION_\w+ (\d+)", file.read()))


def metadata():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        readme = file.read()
    return (
        "Metadata-Version: 2.1\nName: loopwright\nVersion: %s\nSummary: A tensor compiler: mathematics to machine code in microseconds\n"
        "License: MIT\nRequires-Python: >=3.9\nRequires-Dist: numpy\nDescription-Content-Type: text/markdown\n\n%s" % (version(), readme))


def compile_extension():
    """Compiles the extension module, and returns the folder with the complete package."""
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise SystemExit("loopwright needs a Python with the GIL; free-threaded builds cannot load it")
    include = sysconfig.get_path("include")
    if not os.path.exists(os.path.join(include, "Python.h")):
        raise SystemExit("there is no %s/Python.h: install python3-dev, or whatever has the headers of this Python" % include)
    jobs = "-j%d" % len(os.sched_getaffinity(0))
    command = ["make", "-s", jobs, "BUILD=" + BUILD, "CFLAGS=" + CFLAGS, "LDFLAGS=" + LDFLAGS, "SMALL=-Os", "PY_INCLUDE=" + include, "python"]
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.stderr.write(done.stdout)
        raise SystemExit("'%s' failed; tools/setup build installs what building needs on Debian" % " ".join(command))
    return os.path.join(ROOT, BUILD, "python", "loopwright")


def elf_sections(data, kind):
    """The sections of a type in a 64-bit ELF file: pairs of the content and the content of the linked section."""
    start, size, count = struct.unpack_from("<Q", data, 40)[0], *struct.unpack_from("<HH", data, 58)
    heads = [struct.unpack_from("<IIQQQQII", data, start + i * size) for i in range(count)]
    parts = [data[h[4]:h[4] + h[5]] for h in heads]
    return [(part, parts[h[6]]) for h, part in zip(heads, parts) if h[1] == kind]


def elf_needs(data):
    """The libraries that an ELF file needs, and the versions of their symbols: {"GLIBC_2.35", ...}."""
    def name(strings, at):
        return strings[at:strings.index(b"\0", at)].decode()

    libraries, versions = set(), set()
    for part, strings in elf_sections(data, 6):  # SHT_DYNAMIC: pairs of a tag and a value; DT_NEEDED is 1
        libraries.update(name(strings, value) for tag, value in struct.iter_unpack("<QQ", part) if tag == 1)
    for part, strings in elf_sections(data, 0x6FFFFFFE):  # SHT_GNU_verneed: a list of libraries, each with a list of versions
        at, following = 0, 1
        while following:
            first, following = struct.unpack_from("<II", part, at + 8)
            entry, step = at + first, 1
            while step:
                text, step = struct.unpack_from("<II", part, entry + 8)
                versions.add(name(strings, text))
                entry += step
            at += following
    return libraries, versions


def platform_tag(data):
    """The manylinux tag of an extension module, from the symbols that it needs; a plain tag if it needs more than glibc."""
    libraries, versions = elf_needs(data)
    numbers = [tuple(map(int, v[len("GLIBC_"):].split("."))) for v in versions if v.startswith("GLIBC_")]
    if not libraries or not libraries <= GLIBC or len(numbers) < len(versions):
        return "linux_x86_64"
    return "manylinux_%d_%d_x86_64" % max(max(numbers)[:2], (2, 17))


def digest(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    package = compile_extension()
    stripped = os.path.join(ROOT, BUILD, "_native.abi3.so")
    subprocess.run(["strip", "-o", stripped, os.path.join(package, "_native.abi3.so")], check=True)
    with open(stripped, "rb") as file:
        platform = platform_tag(file.read())
    info = "loopwright-%s.dist-info/" % version()
    files = {}
    for name in sorted(os.listdir(package)):
        path = stripped if name == "_native.abi3.so" else os.path.join(package, name)
        if name.endswith((".py", ".pyi", ".so", "py.typed")):
            with open(path, "rb") as file:
                files["loopwright/" + name] = file.read()
    with open(os.path.join(ROOT, "LICENSE"), "rb") as file:
        files[info + "LICENSE"] = file.read()
    files[info + "METADATA"] = metadata().encode()
    files[info + "WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: loopwright\nRoot-Is-Purelib: false\nTag: cp39-abi3-%s\n" % platform).encode()
    record = ["%s,%s,%d" % (name, digest(data), len(data)) for name, data in files.items()]
    files[info + "RECORD"] = "\n".join(record + [info + "RECORD,,", ""]).encode()
    name = "loopwright-%s-cp39-abi3-%s.whl" % (version(), platform)
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for path, data in files.items():
            entry = zipfile.ZipInfo(path, EPOCH)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if path.endswith(".so") else 0o644) << 16
            wheel.writestr(entry, data)
    return name


def build_sdist(sdist_directory, config_settings=None):
    top = "loopwright-%s" % version()
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True)
    if listed.returncode:
        raise SystemExit("a source distribution is made of the files that git knows, and there is no git checkout here")
    with open(os.path.join(ROOT, BUILD + ".PKG-INFO"), "w", encoding="utf-8") as file:
        file.write(metadata())
    with tarfile.open(os.path.join(sdist_directory, top + ".tar.gz"), "w:gz", format=tarfile.PAX_FORMAT) as tar:
        for path in filter(None, listed.stdout.decode().split("\0")):
            tar.add(os.path.join(ROOT, path), "%s/%s" % (top, path))
        tar.add(file.name, top + "/PKG-INFO")
    os.remove(file.name)
    return top + ".tar.gz"


def audit(wheel):
    """Checks the size of a wheel, and its platform tag with auditwheel; says so if auditwheel is not installed."""
    size = os.path.getsize(wheel)
    if size >= LIMIT:
        raise SystemExit("%s has %d bytes; it must have fewer than %d" % (wheel, size, LIMIT))
    tag = re.search(r"(manylinux_\d+_\d+_x86_64)\.whl$", wheel)
    done = subprocess.run([sys.executable, "-m", "auditwheel", "show", wheel], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if "No module named auditwheel" in done.stdout:
        sys.stderr.write("SKIPPED: auditwheel did not check %s: %s has no module auditwheel\n" % (wheel, sys.executable))
    elif done.returncode or (tag and '"%s"' % tag.group(1) not in re.sub(r"\s+", " ", done.stdout)):
        raise SystemExit("auditwheel does not agree with the tag of %s:\n%s" % (wheel, done.stdout))


if __name__ == "__main__":
    os.makedirs(sys.argv[1], exist_ok=True)
    made = os.path.join(sys.argv[1], build_wheel(sys.argv[1]))
    audit(made)
    print(made)
