"""What the Python libraries have in common, behind the namespace that workloads.py and typed.py call."""


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

    def layer(self, x, w, b, stride, padding, groups):
        raise NotImplementedError

    def conv_transpose(self, x, w, b, stride):
        raise NotImplementedError


def in_dtype(x, dtype):
    """Returns a float32 array as NumPy's dtype; float64 gets digits that float32 has not, as bench/rows.cpp does."""
    import numpy as np

    if dtype == "float64":
        return x.astype(np.float64) * (1 + 2.0**-30)
    return x.astype(dtype)
