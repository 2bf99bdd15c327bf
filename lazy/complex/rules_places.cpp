// Holds the rules of ops that move elements and compute nothing: each does to both planes what it does to
// real values.
#include "lazy/complex/rules.hpp"

namespace lazy::detail {
namespace {

using P = const PlaneOp&;

Handle view(P p) {
  const Planes x = planes_of(p.operand(0));
  const auto seen = [&](const Handle& h) {
    return detail::record(p.op, {&h}, h->dtype, p.shape, p.site, p.attributes);
  };
  const Handle re = seen(x.re);
  return jit::complex(re, is_no_imaginary_part(x.im) ? no_imaginary_part(re, p.site) : seen(x.im), p.site);
}

/// Reads both planes where the index says.
Handle gather(P p) {
  const Planes x = planes_of(p.operand(0));
  const auto read = [&](const Handle& h) {
    return detail::record(p.op, {&h, &p.operand(1)}, h->dtype, p.shape, p.site, p.attributes);
  };
  return jit::complex(read(x.re), read(x.im), p.site);
}

Handle slice_update(P p) {
  const Planes base = planes_of(p.operand(0)), piece = planes_of(p.operand(1));
  const auto put = [&](const Handle& to, const Handle& from) {
    return detail::record(p.op, {&to, &from}, to->dtype, p.shape, p.site, p.attributes);
  };
  return jit::complex(put(base.re, piece.re), put(base.im, piece.im), p.site);
}

/// Sets and adds; what combines otherwise needs both planes at once.
Handle scatter(P p) {
  const Combine how = jit::indexed_of(p.attributes).combine;
  if (how != Combine::set && how != Combine::add)
    fail<DtypeError>(p.name, std::string("combines real numbers only so, not ") + name_of(p.dtype), p.site);
  const Planes base = planes_of(p.operand(0)), from = planes_of(p.operand(2));
  const auto put = [&](const Handle& to, const Handle& values) {
    return detail::record(p.op, {&to, &p.operand(1), &values}, to->dtype, p.shape, p.site, p.attributes);
  };
  return jit::complex(put(base.re, from.re), put(base.im, from.im), p.site);
}

Handle choose(P p) {
  const Formula f(p.name, p.site);
  const Term condition = f.term(p.operand(0));
  const ComplexTerm a(f, p.operand(1)), b(f, p.operand(2));
  const Term re = where(condition, a.re, b.re);
  if (a.is_real() && b.is_real())
    return jit::complex(re.handle(), no_imaginary_part(re.handle(), p.site), p.site);
  return ComplexTerm(re, where(condition, a.im, b.im)).handle();
}

constexpr PlaneRuleRow kPlaceRows[] = {
    {Op::reshape, view},
    {Op::permute, view},
    {Op::broadcast, view},
    {Op::slice, view},
    {Op::window, view},
    {Op::gather, gather},
    {Op::slice_update, slice_update},
    {Op::scatter, scatter},
    {Op::where, choose},
};

}  // namespace

std::span<const PlaneRuleRow> plane_rules_of_places() { return kPlaceRows; }

}  // namespace lazy::detail
