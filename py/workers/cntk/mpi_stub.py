"""Builds stand-ins for the two MPI libraries that CNTK's wheel is linked with, with a C compiler.

CNTK 2.7 can't be imported without Open MPI 1.x (`libmpi.so.12`, `libmpi_cxx.so.1`), which no
present system has; it calls it only where several processes train together. The stand-ins define
every MPI symbol that CNTK's libraries ask for: data as zeros, functions that end the process with
a message. They are put beside CNTK's own libraries, which look there first (their RUNPATH).

Run once by the environment's own Python, when the environment is made.
"""

import glob
import os
import re
import subprocess
import sys
import sysconfig
import tempfile

# C's functions, C++'s classes, and Open MPI's own objects behind MPI_COMM_WORLD and its like.
_MPI = re.compile(r"MPI_|ompi_|_ZNK?3MPI|_ZT[IVS]N?3MPI")
_DATA = re.compile(r"ompi_mpi_(?!cxx)|_ZT")

# The largest of Open MPI 1.x's objects is smaller; CNTK takes their addresses only.
_DATA_BYTES = 4096

_BEGINNING = """\
#include <stdio.h>
#include <stdlib.h>

static void refuse(const char *name) {
    fprintf(stderr, "CNTK called %s: training in several processes needs Open MPI\\n", name);
    abort();
}
"""


def main():
    folder = os.path.join(sysconfig.get_paths()["purelib"], "cntk", "libs")
    symbols = undefined_symbols(libraries(folder))
    if not symbols:
        sys.exit("no library in %s asks for MPI: is this CNTK 2.7?" % folder)
    build(os.path.join(folder, "libmpi.so.12"), source(symbols))
    build(os.path.join(folder, "libmpi_cxx.so.1"), "int cntk_mpi_cxx_stub;\n")
    print("%d MPI symbols defined in %s" % (len(symbols), folder))


def libraries(folder):
    """CNTK's shared libraries: those in `folder`, and the module beside the package."""
    module = glob.glob(os.path.join(os.path.dirname(os.path.dirname(folder)), "_cntk_py*.so"))
    return [path for path in module + glob.glob(os.path.join(folder, "*.so*")) if not mpi(path)]


def mpi(path):
    return os.path.basename(path).startswith("libmpi")


def undefined_symbols(paths):
    """The MPI symbols that the libraries at `paths` leave to others, sorted."""
    found = set()
    for path in paths:
        output = run(["nm", "-D", "--undefined-only", path]).decode()
        names = [line.split()[-1].split("@")[0] for line in output.splitlines() if line.strip()]
        found.update(name for name in names if _MPI.match(name))
    return sorted(found)


def source(symbols):
    """C that defines `symbols`."""
    lines = [_BEGINNING]
    for name in symbols:
        if _DATA.match(name):
            lines.append("char %s[%d];\n" % (name, _DATA_BYTES))
        else:
            lines.append('int %s(void) { refuse("%s"); return 1; }\n' % (name, name))
    return "".join(lines)


def build(path, text):
    """The shared library at `path`, compiled from C `text`; complete, or not there at all."""
    compiler = os.environ.get("CC", "gcc")
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path)) as folder:
        code, library = os.path.join(folder, "stub.c"), os.path.join(folder, "stub.so")
        with open(code, "w") as file:
            file.write(text)
        name = "-Wl,-soname," + os.path.basename(path)
        # -w -fno-builtin: MPI's functions are all declared alike here.
        run([compiler, "-shared", "-fPIC", "-w", "-fno-builtin", name, "-o", library, code])
        os.rename(library, path)


def run(command):
    """What `command` prints. Ends this program, in one line, when it can't be run or fails."""
    try:
        return subprocess.check_output(command)
    except FileNotFoundError:
        sys.exit("CNTK needs MPI stand-ins: no %r on the PATH (install gcc)" % command[0])
    except subprocess.CalledProcessError as error:
        sys.exit("%s failed with status %d" % (command[0], error.returncode))


if __name__ == "__main__":
    main()
