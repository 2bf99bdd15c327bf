#include "lazy/ops/products.hpp"

#include <algorithm>
#include <utility>

#include "lazy/core/planes.hpp"
#include "lazy/core/policy.hpp"
#include "lazy/ops/matmul.hpp"
#include "lazy/ops/recorder.hpp"
#include "lazy/ops/views.hpp"

namespace lazy {
namespace {
using namespace detail;

/// Holds two factors in their common dtype.
struct Factors {
  Recorder r;
  DType dtype;
  Handle a, b;

  Factors(const char* name, Arg& x, Arg& y, const Site& s, DType t)
      : r{name, s}, dtype(t), a(Operand(name, x, t).take()), b(Operand(name, y, t).take()) {}
  Factors(const char* name, Arg& x, Arg& y)
      : Factors(name, x, y, x.site(), contraction_type(name, {&x, &y})) {}

  /// Throws ShapeError unless the factors have so many dimensions and the inner extents and batches agree.
  void check(int of_a, int of_b) const {
    const Shape &p = a->shape, &q = b->shape;
    bool good = p.size() == of_a && q.size() == of_b;
    if (good) good = p.back() == q[q.size() - std::min(of_b, 2)] && (of_a < 3 || p[0] == q[0]);
    if (!good)
      r.fail<ShapeError>("takes factors of " + std::to_string(of_a) + " and " + std::to_string(of_b) +
                         " dimensions that fit, not " + to_string(p) + " and " + to_string(q));
  }
  Handle product() const {
    const PolicyScope asked(nullptr);
    return lazy::matmul(r.arg(a), r.arg(b)).handle();
  }
};

Tensor exact_product(const char* name, Arg& a, Arg& b, int of_a, int of_b) {
  const Factors f(name, a, b);
  f.check(of_a, of_b);
  return f.r.tensor(f.product());
}

/// Returns the weight in the dtype that sums are computed in; DtypeError for a fraction among integers.
Handle weight(const Recorder& r, const ScalarNumber& v, DType t, DType work) {
  if (v.kind == ScalarNumber::Kind::real && !is_float(t) && !is_complex(t))
    r.fail<DtypeError>(std::string("integers take no weight of a fraction: ") + name_of(t));
  check_fits(r.name, Arg(v, r.site), t);
  return r.number(v, work);
}

bool is_zero(const ScalarNumber& v) { return v.as_double() == 0; }

/// Returns beta x + alpha product(factors).
template <class F>
Tensor added(const char* name, Arg& x, Arg& a, Arg& b, const ScalarNumber& beta, const ScalarNumber& alpha,
             F&& product) {
  const DType t = contraction_type(name, {&x, &a, &b}), work = is_half(t) ? float32 : t;
  const Factors f(name, a, b, x.site(), t);
  const Recorder& r = f.r;
  if (is_bool(t)) r.fail<DtypeError>("takes numbers, not bool: convert with astype");
  const Handle h = Operand(name, x, t).take();
  const Handle scale = weight(r, alpha, t, work), share = weight(r, beta, t, work);
  const Handle y = r.op(Op::multiply, r.as(work, product(f)), scale);
  if (broadcast_shapes(name, h->shape, y->shape, r.site) != y->shape)
    r.fail<ShapeError>(to_string(h->shape) + " does not broadcast to the product " + to_string(y->shape));
  if (is_zero(beta)) return r.tensor(r.as(t, y));
  return r.tensor(r.as(t, r.op(Op::add, r.op(Op::multiply, r.as(work, h), share), y)));
}

Handle column_times_row(const Factors& f) {
  if (f.a->shape.size() != 1 || f.b->shape.size() != 1)
    f.r.fail<ShapeError>("takes two vectors, not " + to_string(f.a->shape) + " and " + to_string(f.b->shape));
  const DType work = is_half(f.dtype) ? float32 : f.dtype;
  return f.r.op(Op::multiply, f.r.as(work, f.r.reshape(f.a, {f.a->shape[0], 1})), f.r.as(work, f.b));
}

enum class Mode : uint8_t { full, same, valid };

Mode mode_named(const Recorder& r, const std::string& mode) {
  if (mode == "full") return Mode::full;
  if (mode == "same") return Mode::same;
  if (mode == "valid") return Mode::valid;
  r.fail<Error>("the mode is \"full\", \"same\" or \"valid\", not \"" + mode + "\"");
}

/// Returns the sums of a[i + k] v[i] of a that is not shorter than v.
Handle slid(const Recorder& r, const Handle& a, const Handle& v, Mode mode) {
  const int64_t m = a->shape[0], n = v->shape[0];
  const int64_t before = mode == Mode::full ? n - 1 : mode == Mode::same ? n / 2 : 0;
  const int64_t after = mode == Mode::full ? n - 1 : mode == Mode::same ? n - 1 - n / 2 : 0;
  const int64_t whole = narrow(r.name, "an extent of", Wide(m) + before + after, r.site);
  check_countable(r.name, {whole}, r.site);
  const Handle padded = r.replaced(r.filled(0, a->dtype, {whole}, a), a, 0, before);
  const Tensor windows = sliding_window_view(r.arg(padded), n);
  return lazy::matmul(r.arg(windows.handle()), r.arg(v)).handle();
}

Tensor slid(const char* name, Arg& a, Arg& v, const std::string& how, bool reversed) {
  const Recorder r{name, a.site()};
  const DType t = common_type(name, {&a, &v}), work = is_bool(t) ? int64 : t;
  Handle x = Operand(name, a, work).take(), y = Operand(name, v, work).take();
  const Mode mode = mode_named(r, how);
  for (const Handle& h : {x, y})
    if (h->shape.size() != 1 || h->shape[0] == 0)
      r.fail<ShapeError>("takes vectors that are not empty, not " + to_string(x->shape) + " and " +
                         to_string(y->shape));
  check_devices(name, {&x, &y}, r.site);
  if (!reversed) y = conjugate(y, r.site);  // a correlation is a product of a and the conjugate of v
  const bool swapped = x->shape[0] < y->shape[0];
  if (swapped) std::swap(x, y);
  Handle sums = slid(r, x, reversed ? r.reversed(y, 0) : y, mode);
  if (swapped && !reversed) sums = r.reversed(sums, 0);
  return r.tensor(r.as(t, sums));
}

}  // namespace

Tensor mm(Arg a, Arg b) { return exact_product("mm", a, b, 2, 2); }
Tensor mv(Arg a, Arg v) { return exact_product("mv", a, v, 2, 1); }
Tensor bmm(Arg a, Arg b) { return exact_product("bmm", a, b, 3, 3); }

Tensor addmm(Arg x, Arg a, Arg b, ScalarNumber beta, ScalarNumber alpha) {
  return added("addmm", x, a, b, beta, alpha, [](const Factors& f) {
    f.check(2, 2);
    return f.product();
  });
}

Tensor addmv(Arg x, Arg a, Arg v, ScalarNumber beta, ScalarNumber alpha) {
  return added("addmv", x, a, v, beta, alpha, [](const Factors& f) {
    f.check(2, 1);
    return f.product();
  });
}

Tensor addr(Arg x, Arg u, Arg v, ScalarNumber beta, ScalarNumber alpha) {
  return added("addr", x, u, v, beta, alpha, column_times_row);
}

Tensor addbmm(Arg x, Arg a, Arg b, ScalarNumber beta, ScalarNumber alpha) {
  return added("addbmm", x, a, b, beta, alpha, [](const Factors& f) {
    f.check(3, 3);
    const DType work = is_half(f.dtype) ? float32 : f.dtype;
    return f.r.reduce(Op::sum, f.r.as(work, f.product()), {0});
  });
}

Tensor baddbmm(Arg x, Arg a, Arg b, ScalarNumber beta, ScalarNumber alpha) {
  return added("baddbmm", x, a, b, beta, alpha, [](const Factors& f) {
    f.check(3, 3);
    return f.product();
  });
}

Tensor convolve(Arg a, Arg v, const std::string& mode) { return slid("convolve", a, v, mode, true); }
Tensor correlate(Arg a, Arg v, const std::string& mode) { return slid("correlate", a, v, mode, false); }

Tensor polyval(Arg p, Arg x) {
  const Recorder r{"polyval", p.site()};
  const DType common = common_type(r.name, {&p, &x}), t = is_bool(common) ? int64 : common;
  const Handle c = Operand(r.name, p, t).take(), h = Operand(r.name, x, t).take();
  if (c->shape.size() != 1) r.fail<ShapeError>("coefficients have one dimension, not " + to_string(c->shape));
  const DType work = is_half(t) ? float32 : t;
  const Handle at = r.as(work, h), coefficients = r.as(work, c);
  Handle y = r.filled(0, work, h->shape, h);
  for (int64_t i = 0; i < c->shape[0]; ++i)
    y = r.op(Op::add, r.op(Op::multiply, y, at), r.reshape(r.part(coefficients, 0, i, 1), {}));
  return r.tensor(r.as(t, y));
}

}  // namespace lazy
