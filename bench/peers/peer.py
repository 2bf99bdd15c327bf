#!/usr/bin/env python3
"""Measures one Python library on workloads.py and typed.py.

  peer.py numpy|torch|torch_compile|jax|mlx|onnxruntime [-t THREADS] --serve      answers bench/run (bench/serve.hpp)
  peer.py ... [-t THREADS] [-f REGEX] [-s SECONDS]     prints peer,workload,size,threads,median_us

Timed is all that a user waits for: the call until its result is in memory. Compilers get their warm-up first.
"""

import argparse
import importlib
import os
import re
import sys

sys.dont_write_bytecode = True  # nothing of it goes into the source folder

PEERS = {"numpy": ("arrays_sides", "Numpy"), "torch": ("torch_side", "Torch"), "torch_compile": ("torch_side", "TorchCompile"),
         "jax": ("arrays_sides", "Jax"), "mlx": ("arrays_sides", "Mlx"), "onnxruntime": ("onnx_side", "OnnxRuntime")}
# Variables that are unset: they were meant for other machines, or for other measurements.
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_VERBOSE", "MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE", "MKL_VERBOSE", "MKL_CBWR",
         "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_VERBOSE", "ATEN_CPU_CAPABILITY", "NPY_DISABLE_CPU_FEATURES",
         "NPY_ENABLE_CPU_FEATURES", "XLA_FLAGS", "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("peer", choices=list(PEERS))
    p.add_argument("--serve", action="store_true", help="answer questions about rows")
    p.add_argument("-t", "--threads", type=int, default=1)
    p.add_argument("-f", "--filter", default=".", help="only workloads whose name/size matches")
    p.add_argument("-s", "--seconds", type=float, default=0.3, help="of samples for each workload")
    return p.parse_args()


def table(xp, a):
    """Prints a line for each row that matches."""
    import answers

    wanted = re.compile(a.filter)
    for name, row in answers.all_rows().items():
        if not wanted.search(name):
            continue
        try:
            us = answers.median_us(answers.Made(xp, row).call, a.seconds)
            xp.compiles()
        except Exception as e:  # a peer that can't do a row has no figure there
            print(f"{a.peer}: {name}: {type(e).__name__}: {str(e)[:200]}", file=sys.stderr)
            continue
        print(f"{a.peer},{row[0]},{row[1]},{a.threads},{us:.4g}", flush=True)


def main():
    a = arguments()
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[variable] = str(a.threads)
    for variable in UNSET:
        if os.environ.pop(variable, None) is not None:
            print(f"{a.peer}: measured without {variable}", file=sys.stderr)
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    module, name = PEERS[a.peer]
    xp = getattr(importlib.import_module(module), name)(a.threads)
    if a.serve:
        import answers

        return answers.serve(xp)
    print("peer,workload,size,threads,median_us")
    table(xp, a)
    print(f"{a.peer}: {xp.about()}", file=sys.stderr)


if __name__ == "__main__":
    main()
