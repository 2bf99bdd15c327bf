#!/usr/bin/env python3
"""Computes the coefficients of the less accurate forms of elementary functions (LAZY_ACCURACY).

    tools/coefficients_forms.py > backends/vector/vecmath/coefficients_forms.hpp
    tools/coefficients_forms.py --check FILE     exits with 1 if FILE has other numbers; 77 without mpmath

Each table is a minimax fit (Remez exchange, solved in high precision by mpmath) whose coefficients are rounded to float32
one at a time, the others fitted again after each, and then moved by single units where that lowers the greatest error.
"""

import math
import re
import struct
import sys

try:
    import mpmath as mp
except ImportError:
    print("mpmath is not installed", file=sys.stderr)
    sys.exit(77)

mp.mp.dps = 34
POINTS = 1200


def f32(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def neighbour(x, steps):
    bits = struct.unpack("i", struct.pack("f", x))[0]
    return struct.unpack("f", struct.pack("i", bits + steps))[0]


def grid(lo, hi):
    """Returns points that lie closer towards both ends, as the extremes of a minimax error do."""
    return [(lo + hi) / 2 - (hi - lo) / 2 * math.cos(math.pi * i / (POINTS - 1)) for i in range(POINTS)]


class Fit:
    """Holds what is fitted at the points of a grid: values, and the weight of an error there."""

    def __init__(self, value, lo, hi, weight):
        self.x = grid(lo, hi)
        self.value = [mp.mpf(value(mp.mpf(x))) for x in self.x]
        self.weight = [float(weight(mp.mpf(x))) for x in self.x]

    def errors(self, polynomial):
        """Returns the weighted errors of a list of (degree, coefficient)."""
        top = max(d for d, _ in polynomial)
        dense = [mp.mpf(0)] * (top + 1)
        for d, c in polynomial:
            dense[d] += c
        dense = [float(c) for c in dense]
        out = []
        for x, v, w in zip(self.x, self.doubles(), self.weight):
            p = 0.0
            for c in reversed(dense):
                p = p * x + c
            out.append((p - v) * w)
        return out

    def doubles(self):
        if not hasattr(self, "_doubles"):
            self._doubles = [float(v) for v in self.value]
        return self._doubles

    def worst(self, polynomial):
        return max(abs(e) for e in self.errors(polynomial))

    def remez(self, degrees, fixed=()):
        """Returns the best coefficients of these degrees, beside those that are fixed."""
        n = len(degrees) + 1
        at = [round(i * (POINTS - 1) / (n - 1)) for i in range(n)]
        # What alternates is the error over x^first: on both sides of 0 the powers from an odd one on change sign.
        sign = [-1 if x < 0 and degrees[0] % 2 else 1 for x in self.x]
        best, least = None, math.inf
        for _ in range(30):
            a, b = mp.matrix(n, n), mp.matrix(n, 1)
            for row, i in enumerate(at):
                x = mp.mpf(self.x[i])
                for col, d in enumerate(degrees):
                    a[row, col] = x**d
                a[row, n - 1] = mp.mpf((-1) ** row * sign[i]) / self.weight[i]
                b[row] = self.value[i] - sum(c * x**d for d, c in fixed)
            solved = mp.lu_solve(a, b)
            c = [solved[j] for j in range(n - 1)]
            errors = self.errors(list(zip(degrees, c)) + list(fixed))
            worst = max(map(abs, errors))
            if worst < least:
                best, least = c, worst
            if worst <= abs(solved[n - 1]) * 1.0001:
                break
            at = exchanged([e * k for e, k in zip(errors, sign)], n)
        return best

    def rounded(self, degrees, fixed=()):
        """Returns float32 coefficients of these degrees."""
        done, left = list(fixed), list(degrees)
        while left:
            c = self.remez(left, done)
            done.append((left[0], f32(float(c[0]))))
            left = left[1:]
        found = dict(done[len(fixed):])
        least = self.worst(list(fixed) + list(found.items()))
        better = True
        while better:
            better = False
            for d in degrees:
                for step in (1, -1):
                    other = dict(found)
                    other[d] = neighbour(other[d], step)
                    if (worst := self.worst(list(fixed) + list(other.items()))) < least * 0.999:
                        found, least, better = other, worst, True
        return [found[d] for d in degrees], least


def exchanged(errors, n):
    """Returns n points where the error alternates: of each run of one sign the greatest, the runs with the greatest."""
    peaks = []
    for i, e in enumerate(errors):
        if peaks and (e > 0) == (errors[peaks[-1]] > 0):
            if abs(e) > abs(errors[peaks[-1]]):
                peaks[-1] = i
        else:
            peaks.append(i)
    while len(peaks) > n:
        if len(peaks) == n + 1:
            peaks.pop(0 if abs(errors[peaks[0]]) < abs(errors[peaks[-1]]) else -1)
        else:
            least = min(range(len(peaks) - 1), key=lambda j: max(abs(errors[peaks[j]]), abs(errors[peaks[j + 1]])))
            del peaks[least:least + 2]
    while len(peaks) < n:  # a degenerate start: points in between
        gap = max(range(len(peaks) - 1), key=lambda j: peaks[j + 1] - peaks[j])
        peaks.insert(gap + 1, (peaks[gap] + peaks[gap + 1]) // 2)
    return peaks


def rational(value, above, below, hi, weight):
    """Returns the numerator's and the denominator's coefficients (which begins with 1) on [0, hi], rounded, the denominator
    first. Each step is a linear fit of numerator - value * denominator, with the denominator of before in the weight."""
    f = Fit(value, 0, float(hi), weight)
    n = above + below + 2
    at = [round(i * (POINTS - 1) / (n - 1)) for i in range(n)]
    x = [mp.mpf(v) for v in f.x]
    q, best, least = [mp.mpf(1)] + [mp.mpf(1) / (4 * math.factorial(j)) for j in range(1, below + 1)], None, math.inf
    for _ in range(40):
        a, b = mp.matrix(n, n), mp.matrix(n, 1)
        for row, i in enumerate(at):
            for j in range(above + 1):
                a[row, j] = x[i] ** j
            for j in range(1, below + 1):
                a[row, above + j] = -f.value[i] * x[i] ** j
            a[row, n - 1] = (-1) ** row * poly(q, x[i]) / f.weight[i]
            b[row] = f.value[i]
        solved = mp.lu_solve(a, b)
        p, q = [solved[j] for j in range(above + 1)], [mp.mpf(1)] + [solved[above + j] for j in range(1, below + 1)]
        errors = [float((ratio(p, q, v) - u) * w) for v, u, w in zip(x, f.value, f.weight)]
        worst = max(map(abs, errors))
        if worst < least:
            best, least = q, worst
        if worst < abs(solved[n - 1]) * 1.001:
            break
        at = exchanged(errors, n)
    q = [f32(float(c)) for c in best]
    g = Fit(lambda v: value(v) * poly(q, v), 0, float(hi), lambda v: weight(v) / poly(q, v))
    p, worst = g.rounded(list(range(above + 1)))
    return p, q, worst


def poly(c, x):
    s = mp.mpf(0)
    for k in reversed(c):
        s = s * x + k
    return s


def ratio(p, q, x):
    return poly(p, x) / poly(q, x)


def show(name, c):
    print(f"inline constexpr double {name}[] = {{{', '.join(text(v) for v in c)}}};")


def show_number(name, v):
    print(f"inline constexpr double {name} = {text(v)};")


def text(v):
    m, e = math.frexp(abs(v))
    if v in (0, 1):
        return str(int(v))
    digits = format(int(m * 2**25) & 0xFFFFFF, "06x").rstrip("0")
    return f"{'-' if v < 0 else ''}0x1{'.' + digits if digits else ''}p{e - 1}"


def table(name, what, value, lo, hi, degrees, weight=None, fixed=()):
    """Fits; the weight is by default that of the relative error of `value`."""
    fit = Fit(value, lo, hi, weight or (lambda x: 1 / abs(value(x))))
    c, worst = fit.rounded(list(degrees), fixed)
    print(f"// {what}: 2^{math.log2(worst):.1f}")
    show(name, c)


def relative_to(f):
    """Returns the weight of an error relative to f."""
    return lambda x: 1 / abs(f(x))


def normal(z):
    """Returns what the normal distribution's function has beyond 1/2 at x, over x, of z = x^2."""
    return mp.erf(mp.sqrt(z / 2)) / (2 * mp.sqrt(z)) if z else 1 / mp.sqrt(2 * mp.pi)


def over_root(f, slope):
    """Returns f(sqrt z) / sqrt z, which is `slope` at 0."""
    return lambda z: f(mp.sqrt(z)) / mp.sqrt(z) if z else mp.mpf(slope)


def main():
    print("// Made by tools/coefficients_forms.py: change that, not this.")
    print("// Each list goes from the lowest power up; the figure beside it is the greatest error of the polynomial.")
    print("// clang-format off")
    print("#pragma once")
    print("")
    print("namespace lazy::vecmath::forms {")
    print("")
    ln2_half = 0.3468  # half of ln 2, and a little for the rounding of the reduction

    table("kExp", "e^x, from x, |x| <= 0.3468", mp.exp, -ln2_half, ln2_half, range(1, 6), fixed=[(0, 1)])
    tail = lambda x: (mp.expm1(x) - x) / x**2 if x else mp.mpf(0.5)
    table("kExpm1", "(e^x - 1 - x) / x^2; error relative to e^x - 1", tail, -ln2_half, ln2_half, range(5),
          weight=lambda x: x**2 / abs(mp.expm1(x)) if x else 0)
    log_tail = lambda x: (mp.log1p(x) - x) / x**2 if x else mp.mpf(-0.5)
    for name, terms in (("kLog", 8), ("kLogFast", 7)):
        table(name, "(log(1 + x) - x) / x^2, -1/4 <= x <= 1/2; error relative to log(1 + x)", log_tail, -0.25, 0.5, range(terms),
              weight=lambda x: x**2 / abs(mp.log1p(x)) if x else 0)

    c = 2 / mp.log(2)
    show_number("kTwoLog2eHi", f32(float(c)))
    show_number("kTwoLog2eLo", f32(float(c - f32(float(c)))))
    atanh_tail = lambda w: (mp.atanh(mp.sqrt(w)) / mp.sqrt(w) - 1) / w if w else mp.mpf(1) / 3
    table("kLog2", "(atanh(s) / s - 1) / s^2, from s^2, |s| <= 1/5; error relative to atanh s", atanh_tail, 0, 0.0401, range(4),
          weight=lambda w: w + 1e-4)
    table("kExp2", "(2^x - 1) / x, |x| <= 0.5002; error relative to 2^x", lambda x: mp.expm1(x * mp.log(2)) / x if x else mp.log(2),
          -0.5002, 0.5002, range(5), weight=lambda x: (abs(x) + 1e-3) / mp.mpf(2) ** x)
    sine = over_root(mp.sin, 1)
    table("kSine", "(1 - sin x / x) / x^2, from x^2, |x| <= pi/2; error relative to sin x / x",
          lambda z: (1 - sine(z)) / z if z else mp.mpf(1) / 6, 0, float((mp.pi / 2) ** 2 * 1.0001), range(4),
          weight=lambda z: (z + 1e-3) / sine(z))

    tanh, erf = over_root(mp.tanh, 1), over_root(mp.erf, 2 / mp.sqrt(mp.pi))
    for name, what, f, above, below, end in (("kTanh", "tanh", tanh, 4, 4, 8.6), ("kTanhFast", "tanh", tanh, 3, 4, 8.2),
                                             ("kErf", "erf", erf, 5, 5, 3.7), ("kErfFast", "erf", erf, 4, 5, 3.65)):
        p, q, worst = rational(f, above, below, end**2, relative_to(f))
        print(f"// {what} x = x P(x^2) / Q(x^2), |x| <= {end}: 2^{math.log2(worst):.1f}")
        show(name + "P", p)
        show(name + "Q", q)

    for name, end, terms in (("kNormal", 5.25, 14), ("kNormalFast", 4.9, 12)):
        middle = f32(end**2 / 2)
        show_number(name + "Centre", middle)
        table(name, f"(F(x) - 1/2) / x, from x^2 - centre, |x| <= {end}, F of the normal distribution; error of F",
              lambda t: normal(t + middle), -middle, middle, range(terms), weight=lambda t: mp.sqrt(t + middle + 0.01))

    shift = 2.5
    lowest, highest = 1 / (10.2 + shift), 1 / shift
    centre = f32((lowest + highest) / 2)

    def scaled_erfc(w):
        q = w + centre
        x = 1 / q - shift
        return mp.exp(x * x) * mp.erfc(x) / q

    show_number("kErfcCentre", centre)
    table("kErfc", "e^(x^2) erfc(x) / q, from q - centre, q = 1 / (x + 2.5), 0 <= x <= 10.2", scaled_erfc, lowest - centre,
          highest - centre, range(10))
    print("")
    print("}  // namespace lazy::vecmath::forms")


def numbers(page):
    return re.findall(r"k\w+(?:\[\])? = [^;]*;", page)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--check"]:
        import contextlib
        import io

        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            main()
        with open(sys.argv[2]) as page:
            sys.exit(numbers(page.read()) != numbers(out.getvalue()))
    main()
