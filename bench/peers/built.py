"""What a peer's products and loops really are: its BLAS and the instruction set that this picked on this processor.

What is in a library's build options says little: MKL takes a slow path on processors that are not Intel's, OpenBLAS
takes the kernels of the nearest core that it knows. So the libraries are asked, or made to say it.
"""

import ctypes
import glob
import os
import re
import subprocess
import sys


def openblas():
    """Returns the core whose kernels the OpenBLAS in this process uses; "" if there is none."""
    with open("/proc/self/maps") as f:
        paths = {line.split(None, 5)[5].strip() for line in f if "openblas" in line and "/" in line}
    for path in sorted(paths):
        library = ctypes.CDLL(path)
        for name in ("scipy_openblas_get_corename64_", "scipy_openblas_get_corename", "openblas_get_corename64_", "openblas_get_corename"):
            if hasattr(library, name):
                f = getattr(library, name)
                f.restype = ctypes.c_char_p
                return f"OpenBLAS with kernels for {f().decode()}"
    return ""


def said(program, **environment):
    """Returns what a Python program prints with these variables set."""
    return subprocess.run([sys.executable, "-c", program], env={**os.environ, **environment}, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True).stdout


def numpy(np):
    np.ones((8, 8)) @ np.ones((8, 8))
    try:
        from numpy._core._multiarray_umath import __cpu_features__ as features
    except ImportError:
        from numpy.core._multiarray_umath import __cpu_features__ as features
    named = [f for f in ("AVX512_SPR", "AVX512_ICL", "AVX512_SKX", "AVX512F", "AVX2") if features.get(f)]
    return f"NumPy {np.__version__}; {openblas() or 'no OpenBLAS'}; loops {named[0] if named else 'below AVX2'}"


def torch(t):
    parts = [f"PyTorch {t.__version__}"]
    program = "import torch; a = torch.ones(64, 64); a @ a; torch.conv2d(torch.ones(1, 64, 56, 56), torch.ones(64, 64, 3, 3))"
    loud = said(program, MKL_VERBOSE="1", ONEDNN_VERBOSE="1")
    mkl = re.search(r"MKL_VERBOSE (.*?MKL [\d.]+(?: Update \d+)?).*?architecture(.*?), Lnx", loud)
    if mkl:
        # It names no instruction set where it takes its path for processors that are not Intel's.
        sets = re.findall(r"\(Intel\(R\) ([^)]*)\)", mkl[2])
        parts.append(f"{mkl[1]} with {' and '.join(sets) if sets else 'no instruction set named:' + mkl[2]}")
    else:
        blas = re.search(r"BLAS_INFO=(\w+)", t.__config__.show())
        parts.append(f"BLAS {blas[1] if blas else 'unknown'}" + (f" ({openblas()})" if openblas() else ""))
    onednn = re.search(r"onednn_verbose.*?cpu,isa:([^\n]*)", loud)
    if onednn:
        parts.append(f"oneDNN {onednn[1].strip()}")
    return "; ".join(parts + [f"loops {t.backends.cpu.get_cpu_capability()}"])


def jax(j):
    return f"JAX {j.__version__}; XLA's own products; compiled for this processor"


def mlx(mx):
    from importlib.metadata import version

    mx.eval(mx.ones((8, 8)) @ mx.ones((8, 8)))
    beside = glob.glob(os.path.join(os.path.dirname(mx.__file__), "lib", "*blas*"))
    return f"MLX {version('mlx')}; {openblas() or ('BLAS ' + os.path.basename(beside[0]) if beside else 'BLAS unknown')}"
