"""What computes Caffe2's matrix products."""

import ctypes
import os

from caffe2.python import workspace


def blas():
    """Disclosures (texts by name). Importing Caffe2 has loaded MKL into the process."""
    loaded = ctypes.CDLL(None)
    try:
        version, threads = loaded.MKL_Get_Version_String, loaded.MKL_Get_Max_Threads()
    except AttributeError:  # a build with another BLAS
        return {"blas": workspace.C.get_build_options()["BLAS_INFO"]}
    text = ctypes.create_string_buffer(198)  # the length that MKL's manual says
    version(text, len(text))
    return {
        "blas": text.value.decode().strip(),
        "blas_threads": str(threads),
        # With 5, this MKL takes its AVX2 code on processors that aren't Intel's, too: README.md.
        "MKL_DEBUG_CPU_TYPE": os.environ.get("MKL_DEBUG_CPU_TYPE", "not set"),
    }
