"""Compiles Theano's own parts, and a first function: what can't be compiled is said at once."""

import importlib
import os
import sys
import sysconfig

sys.path.append(os.path.dirname(os.path.abspath(__file__)))


def main():
    """Exits with one line where the machine can't compile."""
    headers = sysconfig.get_paths()["include"]
    if not os.path.exists(os.path.join(headers, "Python.h")):
        sys.exit("Python.h is not in %s: install the headers of Python 3.10" % headers)
    importlib.import_module("theano_settings").before_import()
    networks = importlib.import_module("lasagne_networks")
    theano = networks.theano
    if not theano.config.cxx:
        sys.exit("Theano finds no C++ compiler that works: see its warnings above")
    x = networks.T.fvector()
    sums, _ = theano.scan(lambda one, before: one + before, sequences=x, outputs_info=x[0] * 0)
    theano.function([x], sums)
    print("Theano compiles in", theano.config.compiledir)


main()
