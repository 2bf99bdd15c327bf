// Computes the dtype that operands have in common, by the rules that promotion.hpp gives.
#include "lazy/core/promotion.hpp"

#include <algorithm>
#include <cstdio>

#include "lazy/core/build.hpp"
#include "lazy/core/scalar.hpp"

namespace lazy::detail {

std::string text(const ScalarNumber& n) {
  switch (n.kind) {
    case ScalarNumber::Kind::boolean: return n.i ? "true" : "false";
    case ScalarNumber::Kind::natural: return std::to_string(n.u);
    case ScalarNumber::Kind::real: {
      char digits[32];
      std::snprintf(digits, sizeof digits, "%.9g", n.d);
      return digits;
    }
    case ScalarNumber::Kind::complex: return "a complex number";
    case ScalarNumber::Kind::integer: break;
  }
  return std::to_string(n.i);
}

namespace {

bool try_promote(DType a, DType b, DType& out) {
  if (a == b || is_bool(b)) return out = a, true;
  if (is_bool(a)) return out = b, true;
  if (is_complex(a) || is_complex(b)) {
    // Integers take the planes' dtype, floats widen them.
    const bool wide = a == complex128 || b == complex128 || a == float64 || b == float64;
    return out = wide ? complex128 : complex64, true;
  }
  if (is_float(a) != is_float(b)) return out = is_float(a) ? a : b, true;
  if (is_float(a)) {
    if (is_half(a) && is_half(b)) return out = float32, true;
    return out = std::max(a, b), true;
  }
  if (is_signed_int(a) == is_signed_int(b)) return out = std::max(a, b), true;
  const DType s = is_signed_int(a) ? a : b, u = is_signed_int(a) ? b : a;
  if (u == uint64) return false;
  // The signed type of the next width after u, or s if that is wider.
  const DType next =
      static_cast<DType>(static_cast<int>(u) - static_cast<int>(uint8) + static_cast<int>(int16));
  return out = std::max(s, next), true;
}

/// Returns the dtype that a tensor's dtype becomes beside a weak scalar.
DType with_scalar(DType t, const ScalarNumber& n) {
  switch (n.kind) {
    case ScalarNumber::Kind::boolean: return t;
    case ScalarNumber::Kind::integer:
    case ScalarNumber::Kind::natural: return is_bool(t) ? int64 : t;
    case ScalarNumber::Kind::complex: return complex_type(float_type(t));
    case ScalarNumber::Kind::real: break;
  }
  return float_type(t);
}

}  // namespace

void check_fits(const char* op, const Arg& a, DType t) {
  if (!number_fits(a.number(), t))
    fail<DtypeError>(op,
                     text(a.number()) + " does not fit " + name_of(t) + ": cast the tensor with astype first",
                     a.site());
}

DType float_type(DType t) { return is_float(t) || is_complex(t) ? t : get_default_dtype(); }

DType promote(const char* op, DType a, DType b, const Site& s) {
  DType t{};
  if (!try_promote(a, b, t))
    fail<DtypeError>(
        op, std::string(name_of(a)) + " and " + name_of(b) + " have no common dtype: convert one with astype",
        s);
  return t;
}

DType promoted_type(const char* op, std::span<const Arg* const> args) {
  if (args.size() == 2) {  // the most frequent case, where often nothing needs promotion
    const Handle &a = args[0]->handle(), &b = args[1]->handle();
    if (a && b && a->dtype == b->dtype) return a->dtype;
    // A float takes any scalar beside it.
    if (a && !b && !args[1]->is_tensor() && is_float(a->dtype)) return a->dtype;
    if (b && !a && !args[0]->is_tensor() && is_float(b->dtype)) return b->dtype;
  }
  DType t{};
  bool found = false;
  for (const Arg* a : args) {
    if (!a->is_tensor()) continue;
    if (!a->handle()) throw_empty(op, a->site());
    const DType d = a->handle()->dtype;
    t = found && d != t ? promote(op, t, d, args[0]->site()) : d;
    found = true;
  }
  const bool weak = found;
  for (const Arg* a : args) {
    if (a->is_tensor()) continue;
    if (weak) {
      t = with_scalar(t, a->number());
    } else {
      const DType d = a->number().literal_dtype();
      t = found ? promote(op, t, d, a->site()) : d;
      found = true;
    }
  }
  for (const Arg* a : args)
    if (!a->is_tensor()) check_fits(op, *a, t);
  return t;
}

DType common_type(const char* op, std::span<const Arg* const> args) {
  const DType t = promoted_type(op, args);
  if (PolicyScope::current()) [[unlikely]]
    for (const Arg* a : args)
      if (a->handle()) return asked_type(op, t, a->handle()->device);
  return t;
}

bool same_kind(DType from, DType to) {
  const auto kind = [](DType t) {
    return is_bool(t) ? 0 : is_unsigned_int(t) ? 1 : is_signed_int(t) ? 2 : is_complex(t) ? 4 : 3;
  };
  return kind(from) <= kind(to);
}

Handle stored_as(const char* op, const Arg& a, DType to) {
  if (a.is_tensor()) {
    const Operand h(op, a);
    if (!same_kind(h->dtype, to))
      fail<DtypeError>(op,
                       std::string("a ") + name_of(h->dtype) + " value does not go into a tensor of " +
                           name_of(to) + ": convert with astype",
                       a.site());
    return cast(h, to, a.site());
  }
  const ScalarNumber& n = a.number();
  if ((n.kind == ScalarNumber::Kind::real && !is_float(to) && !is_complex(to)) ||
      (n.kind == ScalarNumber::Kind::complex && !is_complex(to)) ||
      (n.kind != ScalarNumber::Kind::boolean && is_bool(to)))
    fail<DtypeError>(op, text(n) + " does not go into a tensor of " + name_of(to) + ": convert with astype",
                     a.site());
  return Operand(op, a, to);
}

}  // namespace lazy::detail

namespace lazy {

DType result_type(DType a, DType b, Site s) { return detail::promote("result_type", a, b, s); }
DType result_type(Arg a, Arg b) { return detail::common_type("result_type", {&a, &b}); }
DType result_type(Arg a, Arg b, Arg c) { return detail::common_type("result_type", {&a, &b, &c}); }
DType result_type(std::initializer_list<Arg> operands, Site s) {
  if (operands.size() == 0) detail::fail<Error>("result_type", "expected at least one operand", s);
  std::vector<const Arg*> each;
  for (const Arg& a : operands) each.push_back(&a);
  return detail::common_type("result_type", each);
}

bool isdtype(DType t, const std::string& kind, Site s) {
  if (kind == "bool") return is_bool(t);
  if (kind == "signed integer") return is_signed_int(t);
  if (kind == "unsigned integer") return is_unsigned_int(t);
  if (kind == "integral") return is_int(t);
  if (kind == "real floating") return is_float(t);
  if (kind == "complex floating") return is_complex(t);
  if (kind == "numeric") return !is_bool(t);
  detail::fail<Error>("isdtype", "no kind of dtypes: \"" + kind + "\"", s);
}

bool can_cast(DType from, DType to) {
  DType t{};
  return detail::try_promote(from, to, t) && t == to;
}
bool can_cast(Arg from, DType to) { return can_cast(detail::Operand("can_cast", from)->dtype, to); }

}  // namespace lazy
