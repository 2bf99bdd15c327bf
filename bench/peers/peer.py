#!/usr/bin/env python3
"""Measures one Python library on workloads.py and typed.py.

  peer.py numpy|torch|torch_compile|jax|mlx|onnxruntime [-t THREADS] --serve      answers bench/run (bench/serve.hpp)
  peer.py ... [-t THREADS] [-f REGEX] [-s SECONDS]     prints peer,workload,size,threads,median_us

Timed is all that a user waits for: the call until its result is in memory. Compilers get their warm-up first.
"""

import argparse
import os
import re
import sys

sys.dont_write_bytecode = True  # nothing of it goes into the source folder
import built  # noqa: E402

# Variables that are unset: they were meant for other machines, or for other measurements.
UNSET = ("OPENBLAS_CORETYPE", "OPENBLAS_VERBOSE", "MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE", "MKL_VERBOSE", "MKL_CBWR",
         "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ONEDNN_VERBOSE", "ATEN_CPU_CAPABILITY", "NPY_DISABLE_CPU_FEATURES",
         "NPY_ENABLE_CPU_FEATURES", "XLA_FLAGS", "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE")


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("peer", choices=["numpy", "torch", "torch_compile", "jax", "mlx", "onnxruntime"])
    p.add_argument("--serve", action="store_true", help="answer questions about rows")
    p.add_argument("-t", "--threads", type=int, default=1)
    p.add_argument("-f", "--filter", default=".", help="only workloads whose name/size matches")
    p.add_argument("-s", "--seconds", type=float, default=0.3, help="of samples for each workload")
    return p.parse_args()


class Library:
    """Implements what most have in common: nothing is compiled, and a call returns its result."""

    def compiled(self, f):
        return f

    def compiles(self):
        """Throws where compiled() promised more than what ran."""

    def wait(self, y):
        pass

    def training(self, name):
        """Returns a function that trains once, as bench/training_steps.cpp."""
        raise NotImplementedError

    def typed(self, x, dtype):
        """Returns the float32 array as one of that dtype; float64 gets digits that float32 has not."""
        raise NotImplementedError(f"no {dtype}")

    def plain(self, x):
        """Returns it as a NumPy array."""
        return x

    def runs_on(self, made):
        """Returns what computes the row, if that differs by row."""
        return ""

    def matmul_int8(self, a, b):
        raise NotImplementedError("no product of int8 into int32")

    def float32(self, x):
        """Returns it unchanged: most libraries promote integers where they meet floats."""
        return x

    def ordered(self, name, x):
        raise NotImplementedError

    def searchsorted(self, s, x):
        raise NotImplementedError


def in_dtype(x, dtype):
    """Returns a float32 array as NumPy's dtype; float64 gets digits that float32 has not, as bench/rows.cpp does."""
    import numpy as np

    if dtype == "float64":
        return x.astype(np.float64) * (1 + 2.0**-30)
    return x.astype(dtype)


class Numpy(Library):
    """Runs eager NumPy; erf from SciPy."""

    def __init__(self, threads):
        import numpy as np

        try:
            from scipy import special
        except ImportError:
            special = None
        self.np, self.special = np, special
        for f in ("exp", "log", "sqrt", "where", "matmul", "reshape", "transpose", "abs", "round", "max"):
            setattr(self, f, getattr(np, f))
        self.argmax, self.sum, self.row_max = (lambda x: np.argmax(x, -1)), (lambda x: np.sum(x, -1)), (lambda x: np.max(x, -1))
        self.count = np.count_nonzero

    def array(self, x):
        return x

    def typed(self, x, dtype):
        if dtype == "bfloat16":
            raise NotImplementedError("no bfloat16")
        return in_dtype(x, dtype)

    def about(self):
        return built.numpy(self.np)

    def erf(self, x):
        return self.special.erf(x)

    def gelu(self, x):
        return x * 0.5 * (1 + self.special.erf(x * 0.7071067811865476))

    def sigmoid(self, x):
        return 1 / (1 + self.np.exp(-x))

    def rsqrt(self, x):
        return 1 / self.np.sqrt(x)

    def relu(self, x):
        return self.np.maximum(x, 0)

    def mean(self, x, axis, keep):
        return self.np.mean(x, axis, keepdims=keep)

    def softmax(self, x):
        e = self.np.exp(x - self.np.max(x, -1, keepdims=True))
        return e / self.np.sum(e, -1, keepdims=True)

    def logsumexp(self, x):
        m = self.np.max(x, -1, keepdims=True)
        return m[..., 0] + self.np.log(self.np.sum(self.np.exp(x - m), -1))

    def layernorm(self, x, w, b):
        c = x - self.np.mean(x, -1, keepdims=True)
        return c * self.rsqrt(self.np.mean(c * c, -1, keepdims=True) + 1e-5) * w + b

    def attention(self, q, k, v, causal=False):
        s = q @ self.np.swapaxes(k, -1, -2) * self.np.float32(q.shape[-1] ** -0.5)
        if causal:
            s = self.np.where(self.np.tri(*s.shape[-2:], dtype=bool), s, self.np.float32(-self.np.inf))
        return self.softmax(s) @ v

    def conv2d(self, x, w, b, layout):
        raise NotImplementedError

    def ordered(self, name, x):
        np, n = self.np, x.shape[-1]
        functions = {
            "sort": lambda: np.sort(x), "argsort": lambda: np.argsort(x), "median": lambda: np.median(x, -1),
            "quantile": lambda: np.quantile(x, 0.3, -1), "kthvalue": lambda: np.partition(x, n // 2, -1)[..., n // 2],
            "cumsum": lambda: np.cumsum(x, -1), "cumprod": lambda: np.cumprod(x, -1), "cummax": lambda: np.maximum.accumulate(x, -1),
            "logcumsumexp": lambda: np.logaddexp.accumulate(x, -1), "unique": lambda: np.unique(x),
            "histogram100": lambda: np.histogram(x, 100)[0]}
        if name not in functions:  # it has no topk
            raise NotImplementedError
        return functions[name]()

    def searchsorted(self, s, x):
        return self.np.searchsorted(s, x)


class Torch(Library):
    """Runs eager PyTorch."""

    def __init__(self, threads):
        import torch

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
        self.torch, self.F = torch, torch.nn.functional
        for f in ("exp", "log", "sqrt", "rsqrt", "erf", "sigmoid", "where", "matmul", "relu", "reshape", "permute", "abs", "round", "max"):
            setattr(self, f, getattr(torch, f))
        self.gelu, self.transpose, self.count = self.F.gelu, torch.permute, torch.count_nonzero

    def array(self, x):
        return self.torch.from_numpy(x)

    def typed(self, x, dtype):
        t = self.torch.from_numpy(in_dtype(x, dtype) if dtype == "float64" else x)
        return t.to(getattr(self.torch, dtype))

    def plain(self, x):
        import ml_dtypes

        return x.float().numpy().astype(ml_dtypes.bfloat16) if x.dtype == self.torch.bfloat16 else x.numpy()

    def int8(self, x):
        return x.to(self.torch.int8)

    def matmul_int8(self, a, b):
        return self.torch._int_mm(a, b)

    def sum(self, x):
        return self.torch.sum(x, -1)

    def row_max(self, x):
        return self.torch.amax(x, -1)

    def about(self):
        return built.torch(self.torch)

    def mean(self, x, axis, keep):
        return x.mean(axis, keepdim=keep)

    def softmax(self, x):
        return self.torch.softmax(x, -1)

    def logsumexp(self, x):
        return self.torch.logsumexp(x, -1)

    def argmax(self, x):
        return self.torch.argmax(x, -1)

    def layernorm(self, x, w, b):
        return self.F.layer_norm(x, w.shape, w, b)

    def attention(self, q, k, v, causal=False):
        return self.F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def conv2d(self, x, w, b, layout):
        if layout == "nchw":
            return self.F.conv2d(x, w, b, padding=1)
        y = self.F.conv2d(x.permute(0, 3, 1, 2), w.contiguous(memory_format=self.torch.channels_last), b, padding=1)
        return y.permute(0, 2, 3, 1)

    def ordered(self, name, x):
        torch, n = self.torch, x.shape[-1]
        return {
            "sort": lambda: torch.sort(x)[0], "argsort": lambda: torch.argsort(x), "topk10": lambda: torch.topk(x, 10),
            "topk100": lambda: torch.topk(x, 100), "kthvalue": lambda: torch.kthvalue(x, n // 2), "median": lambda: torch.median(x, -1),
            "quantile": lambda: torch.quantile(x, 0.3, -1), "cumsum": lambda: torch.cumsum(x, -1),
            "cumprod": lambda: torch.cumprod(x, -1), "cummax": lambda: torch.cummax(x, -1),
            "logcumsumexp": lambda: torch.logcumsumexp(x, -1), "unique": lambda: torch.unique(x),
            "histogram100": lambda: torch.histc(x, 100)}[name]()

    def searchsorted(self, s, x):
        return self.torch.searchsorted(s, x)


    def training(self, name, compiled=False):
        import training

        with self.torch.enable_grad():
            _, make, optimizer, (x, t) = next(w for w in training.workloads() if w[0] == name)
            step = training.step_of(make, optimizer, x, t, compiled)

        def with_gradients():
            with self.torch.enable_grad():
                step()

        return with_gradients


class RanEagerly(Exception):
    """A figure that says torch.compile would be one of eager PyTorch."""


class TorchCompile(Torch):
    """torch.compile with its defaults; sizes are marked dynamic by itself after the first change.

    Dynamo counts how often one function is compiled anew, and all workloads pass through one: at its limit it falls back on
    eager execution, with a warning. So each workload starts with nothing compiled, and that warning ends the run.
    """

    def __init__(self, threads):
        super().__init__(threads)
        import logging

        import torch._dynamo
        from torch._dynamo.utils import counters

        self.dynamo, self.counters, self.warned = torch._dynamo, counters, []
        watch = logging.Handler(logging.WARNING)
        watch.emit = lambda record: self.warned.append(record.getMessage())
        logging.getLogger("torch._dynamo").addHandler(watch)

    def compiled(self, f):
        self.dynamo.reset()
        self.counters.clear()
        return self.torch.compile(f)

    def training(self, name):
        self.dynamo.reset()
        self.counters.clear()
        return super().training(name, True)

    def compiles(self):
        """Throws unless everything that ran since compiled() was compiled."""
        limits = [w for w in self.warned if re.search("(recompile|cache_size).*limit", w)]
        if limits:
            raise RanEagerly(limits[0].splitlines()[0])
        if not self.counters["stats"]["unique_graphs"]:
            raise RanEagerly("torch.compile compiled nothing")


class Jax(Library):
    """jax.jit. XLA's CPU backend takes its threads from the processors it may run on."""

    def __init__(self, threads):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        import jax

        jax.config.update("jax_platforms", "cpu")
        self.jax, jnp = jax, jax.numpy
        for f in ("exp", "log", "sqrt", "where", "matmul", "reshape", "transpose", "abs", "round", "max"):
            setattr(self, f, getattr(jnp, f))
        self.jnp, self.count = jnp, jnp.count_nonzero
        self.rsqrt, self.erf, self.sigmoid = jax.lax.rsqrt, jax.lax.erf, jax.nn.sigmoid
        self.relu = jax.nn.relu

    def array(self, x):
        return self.jax.device_put(x)

    def typed(self, x, dtype):
        if dtype in ("float64", "int64"):
            raise NotImplementedError(f"no {dtype} by default")
        return self.jax.device_put(x).astype(dtype)

    def plain(self, x):
        import numpy as np

        return np.asarray(x)

    def int8(self, x):
        return x.astype(self.jnp.int8)

    def matmul_int8(self, a, b):
        return self.jax.lax.dot(a, b, preferred_element_type=self.jnp.int32)

    def sum(self, x):
        return self.jnp.sum(x, -1)

    def row_max(self, x):
        return self.jnp.max(x, -1)

    def compiled(self, f):
        return self.jax.jit(f)

    def about(self):
        return built.jax(self.jax)

    def wait(self, y):
        self.jax.block_until_ready(y)

    def gelu(self, x):
        return self.jax.nn.gelu(x, approximate=False)

    def mean(self, x, axis, keep):
        return self.jnp.mean(x, axis, keepdims=keep)

    def softmax(self, x):
        return self.jax.nn.softmax(x)

    def logsumexp(self, x):
        return self.jax.nn.logsumexp(x, -1)

    def argmax(self, x):
        return self.jnp.argmax(x, -1)

    def layernorm(self, x, w, b):
        c = x - self.jnp.mean(x, -1, keepdims=True)
        return c * self.rsqrt(self.jnp.mean(c * c, -1, keepdims=True) + 1e-5) * w + b

    def attention(self, q, k, v, causal=False):
        s = q @ self.jnp.swapaxes(k, -1, -2) * q.shape[-1] ** -0.5
        if causal:
            s = self.jnp.where(self.jnp.tri(*s.shape[-2:], dtype=bool), s, -self.jnp.inf)
        return self.softmax(s) @ v

    def conv2d(self, x, w, b, layout):
        form = ("NCHW", "OIHW", "NCHW") if layout == "nchw" else ("NHWC", "OIHW", "NHWC")
        y = self.jax.lax.conv_general_dilated(x, w, (1, 1), ((1, 1), (1, 1)), dimension_numbers=form)
        return y + (b[:, None, None] if layout == "nchw" else b)


class Mlx(Library):
    """mlx.core on the CPU under mx.compile."""

    def __init__(self, threads):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
        import mlx.core as mx

        mx.set_default_device(mx.cpu)
        self.mx = mx
        for f in ("exp", "log", "sqrt", "rsqrt", "erf", "sigmoid", "where", "matmul", "reshape", "transpose"):
            setattr(self, f, getattr(mx, f))

    def array(self, x):
        return self.mx.array(x)

    def plain(self, x):
        import numpy as np

        return np.array(x)

    def compiled(self, f):
        return self.mx.compile(f)

    def about(self):
        return built.mlx(self.mx)

    def wait(self, y):
        self.mx.eval(y)

    def gelu(self, x):
        return x * 0.5 * (1 + self.mx.erf(x * 0.7071067811865476))

    def relu(self, x):
        return self.mx.maximum(x, 0)

    def mean(self, x, axis, keep):
        return self.mx.mean(x, axis, keepdims=keep)

    def softmax(self, x):
        return self.mx.softmax(x, -1)

    def logsumexp(self, x):
        return self.mx.logsumexp(x, -1)

    def argmax(self, x):
        return self.mx.argmax(x, -1)

    def layernorm(self, x, w, b):
        return self.mx.fast.layer_norm(x, w, b, 1e-5)

    def attention(self, q, k, v, causal=False):
        mask = "causal" if causal else None
        return self.mx.fast.scaled_dot_product_attention(q, k, v, scale=q.shape[-1] ** -0.5, mask=mask)

    def conv2d(self, x, w, b, layout):
        x = self.mx.transpose(x, (0, 2, 3, 1)) if layout == "nchw" else x
        y = self.mx.conv2d(x, self.mx.transpose(w, (0, 2, 3, 1)), padding=1) + b
        return self.mx.transpose(y, (0, 3, 1, 2)) if layout == "nchw" else y


PEERS = {"numpy": Numpy, "torch": Torch, "torch_compile": TorchCompile, "jax": Jax, "mlx": Mlx}


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
    if a.peer == "onnxruntime":
        from onnx_side import OnnxRuntime

        xp = OnnxRuntime(a.threads)
    else:
        xp = PEERS[a.peer](a.threads)
    if a.serve:
        import answers

        return answers.serve(xp)
    print("peer,workload,size,threads,median_us")
    table(xp, a)
    print(f"{a.peer}: {xp.about()}", file=sys.stderr)


if __name__ == "__main__":
    main()
