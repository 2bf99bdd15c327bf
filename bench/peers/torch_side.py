"""PyTorch, eager and compiled."""

import re

import built
from library import Library, in_dtype


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

    def group_norm(self, x, groups, w, b):
        return self.F.group_norm(x, groups, w, b)

    def attention(self, q, k, v, causal=False):
        return self.F.scaled_dot_product_attention(q, k, v, is_causal=causal)

    def conv2d(self, x, w, b, layout):
        if layout == "nchw":
            return self.F.conv2d(x, w, b, padding=1)
        y = self.F.conv2d(x.permute(0, 3, 1, 2), w.contiguous(memory_format=self.torch.channels_last), b, padding=1)
        return y.permute(0, 2, 3, 1)

    def layer(self, x, w, b, stride, padding, groups):
        return self.F.conv2d(x, w, b, stride, padding, 1, groups)

    def conv_transpose(self, x, w, b, stride):
        return self.F.conv_transpose2d(x, w, b, stride)

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
