"""NumPy, JAX and MLX."""

import os

import built
from library import Library, in_dtype


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

    def layer(self, x, w, b, stride, padding, groups):
        y = self.jax.lax.conv_general_dilated(x, w, (stride,) * 2, ((padding, padding),) * 2, feature_group_count=groups)
        return y + b[:, None, None]


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
