"""What has to be settled in TensorFlow, JAX or PyTorch before Keras is imported on top of it.

Each function sets threads, device and precision, and returns versions and disclosures.
"""

import os
import warnings


def start_tensorflow(device, threads):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # leaves warnings out, not errors
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.config.experimental.enable_tensor_float_32_execution(False)
    gpus = tf.config.list_physical_devices("GPU")
    gpus = _find_device(device, gpus, "TensorFlow (%s)" % tf.__version__)
    tf.config.set_visible_devices(gpus, "GPU")  # Keras computes on the first that is visible
    for gpu in gpus:
        tf.config.experimental.set_memory_growth(gpu, True)  # not all of it: others live there too
    build = tf.sysconfig.get_build_info()
    versions = {"tensorflow": tf.__version__, "cuda": str(build.get("cuda_version"))}
    return versions, {
        "mode": "tf.function",
        "gru": "cuDNN without XLA on a GPU, tf.while_loop on a CPU",
        "dropout": "tf.nn.experimental.stateless_dropout",
        "sparse gradients": "made dense before Adam squares them",
        "cpu kernels": "Eigen; TF_ENABLE_ONEDNN_OPTS=%s"
        % os.environ.get("TF_ENABLE_ONEDNN_OPTS", "unset, which is on"),
    }


def start_jax(device, threads):
    os.environ["NPROC"] = str(threads)  # the only size of XLA's CPU pool that it asks for
    import jax
    import jaxlib

    jax.config.update("jax_default_matmul_precision", "highest")  # no TF32
    if device == "cpu":
        jax.config.update("jax_platforms", "cpu")  # or a GPU that is there would be taken
        # Otherwise another thread still frees a step's memory when the step's results are ready.
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        cuda = None
    else:
        # XLA takes three quarters of the GPU's memory unless told not to: others live there too.
        os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"
        try:
            gpus = jax.devices("cuda")
        except RuntimeError:  # no such platform
            gpus = []
        (gpu,) = _find_device(device, gpus, "JAX (%s)" % jax.__version__)
        jax.config.update("jax_default_device", gpu)
        cuda = gpu.client.platform_version
    versions = {"jax": jax.__version__, "jaxlib": jaxlib.__version__, "cuda": str(cuda)}
    return versions, {
        "mode": "jax.jit",
        "gru": "lax.scan, after one product with the inputs of all time steps",
        "dropout": "jax.random.bernoulli",
        "cpu kernels": "XLA",
    }


def start_torch(device, threads):
    import torch

    gpus = list(range(torch.cuda.device_count()))
    gpus = _find_device(device, gpus, "PyTorch (%s)" % torch.__version__)
    os.environ["KERAS_TORCH_DEVICE"] = "cuda:%d" % gpus[0] if gpus else "cpu"
    torch.set_num_threads(threads)
    torch.set_num_interop_threads(1)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    # A batch is a read-only view of the message it came in. It is never written to.
    warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
    return {"torch": torch.__version__, "cuda": str(torch.version.cuda)}, {
        "mode": "eager",
        "gru": "cuDNN on a GPU, a loop in Python on a CPU",
        "dropout": "torch.nn.functional.dropout",
        "cpu kernels": torch.backends.cpu.get_cpu_capability(),
    }


START = {"tensorflow": start_tensorflow, "jax": start_jax, "torch": start_torch}


def _find_device(device, gpus, framework):
    """Which of `gpus` "cuda" or "cuda:1" is, in a list; none for "cpu". ValueError if not there."""
    if device == "cpu":
        return []
    names = ["cuda:%d" % number for number in range(len(gpus))]
    name = "cuda:0" if device == "cuda" else device
    if name not in names:
        reason = "this %s sees %s" % (framework, ", ".join(names) or "no CUDA device")
        raise ValueError("device %r is not available: %s" % (device, reason))
    return [gpus[names.index(name)]]
