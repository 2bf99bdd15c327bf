#include "lazy/indexing/indexing.hpp"

#include <array>

#include "lazy/indexing/placement.hpp"
#include "lazy/indexing/recording.hpp"
#include "lazy/ops/elementwise.hpp"

namespace lazy {
namespace {
using namespace detail;

constexpr const char* kRead = "index";
constexpr const char* kWrite = "assign";

using Given = std::array<const Index*, kMaxIndices>;

Region placed(const Handle& base, const Given& given) {
  size_t n = 0;
  while (n < given.size() && given[n]->kind != Index::Kind::absent) ++n;
  return place(kRead, base, Indices(given.data(), n), given[0]->site);
}

Region placed(const Handle& base, std::span<const Index> list, const Site& s) {
  std::vector<const Index*> given;
  for (const Index& i : list) given.push_back(&i);
  return place(kRead, base, given, s);
}

Region placed(const Handle& base, const Handle& index, const Site& s) {
  const Index only(index, s);
  const Index* const one[] = {&only};
  return place(kRead, base, one, s);
}

Handle flat(const Handle& mask, const Site& s) { return detail::reshape(mask, {numel(mask->shape)}, s); }

/// Returns the elements that a mask of the leading axes selects.
Handle read_mask(const Handle& x, const Handle& mask, const Site& s) {
  (void)aligned_mask(kRead, x, mask, 0, s);
  check_devices(kRead, {&x, &mask}, s);
  Shape rows{numel(mask->shape)};
  for (int i = mask->shape.size(); i < x->shape.size(); ++i) rows.push_back(x->shape[i]);
  const Handle chosen = flat(mask, s);
  return selected_rows(kRead, detail::reshape(x, rows, s), chosen, count_of(kRead, chosen, s), s);
}

Handle read_at(const Handle& x, const Handle& index, const Site& s) {
  if (is_bool(index->dtype)) return read_mask(x, index, s);
  return read_region(kRead, x, placed(x, index, s), s);
}

}  // namespace

// Reading

template <class Place>
View::View(Tensor& base, const Site& site, const Place& place) : base_(&base), region_(place()), site_(site) {
  const Arg whole(base, site);
  rebind(returned(read_region(kRead, whole.handle(), region_, site), whole).handle());
}

View Tensor::operator()(Index a, Index b, Index c, Index d, Index e, Index f, Index g, Index h, Index i,
                        Index j) & {
  (void)node(kRead, a.site);
  return View(*this, a.site, [&] { return placed(handle_, {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j}); });
}
Tensor Tensor::operator()(Index a, Index b, Index c, Index d, Index e, Index f, Index g, Index h, Index i,
                          Index j) const& {
  (void)node(kRead, a.site);
  const Arg whole(*this, a.site);
  return returned(
      read_region(kRead, whole.handle(), placed(handle_, {&a, &b, &c, &d, &e, &f, &g, &h, &i, &j}), a.site),
      whole);
}
Tensor Tensor::operator()(Index a, Index b, Index c, Index d, Index e, Index f, Index g, Index h, Index i,
                          Index j) && {
  return std::as_const(*this)(a, b, c, d, e, f, g, h, i, j);
}

Tensor Tensor::read_selected(const Tensor& index, const Site& s) const {
  (void)node(kRead, s);
  (void)index.node(kRead, s);
  return Tensor(read_at(Arg(*this, s).handle(), Arg(index, s).handle(), s));
}

View Tensor::operator()(std::span<const Index> list, Site s) & {
  (void)node(kRead, s);
  return View(*this, s, [&] { return placed(handle_, list, s); });
}
Tensor Tensor::operator()(std::span<const Index> list, Site s) const& {
  (void)node(kRead, s);
  const Arg whole(*this, s);
  return returned(read_region(kRead, whole.handle(), placed(handle_, list, s), s), whole);
}
Tensor Tensor::operator()(std::span<const Index> list, Site s) && { return std::as_const(*this)(list, s); }

// Assignments of whole tensors are those to all of their elements.

Tensor& Tensor::copy_(Arg v) & {
  (*this)(std::span<const Index>(), v.site()) = v;
  return *this;
}
Tensor& Tensor::fill_(Arg v) & { return copy_(std::move(v)); }
Tensor& Tensor::zero_(Site s) & { return copy_(Arg(false, s)); }

Arg::Arg(const Selection& v, Site site) : owned_(v.read(site).handle()), is_tensor_(true), site_(site) {}
Index::Index(const Selection& v, Site s) : Index(v.read(s), s) {}

// Writing a region

void View::write(const char* op, const Arg& v) {
  base_->update_to(written_region(op, Arg(*base_, v.site()).handle(), region_, v), v.site());
  if (whole_) whole_->write(op, Arg(whole_->handle(), v.site()));
}

View View::operator[](Index i) && {
  const auto whole = std::make_shared<View>(std::move(*this));
  (void)whole->node(kRead, i.site);
  View part(*whole, i.site, [&] { return placed(whole->handle(), std::span(&i, 1), i.site); });
  part.whole_ = whole;
  return part;
}

View& View::clamp_(Arg low, Arg high) && {
  const Site s = low.site();
  const Tensor r = lazy::clip(Arg(handle(), s), std::move(low), std::move(high));
  write(kWrite, Arg(r.handle(), s));
  return *this;
}

template <class F>
View& View::update(const char* function, const char* typed, F op, const Arg& v) {
  const detail::Spelled as(function, typed), assigned(kWrite, typed), updated("update", typed);
  const Tensor r = op(Arg(handle(), v.site()), v);
  write(kWrite, Arg(r.handle(), v.site()));
  return *this;
}

View& View::operator=(const View& v) && {
  const detail::Spelled as("update", kWrite);
  write(kWrite, Arg(v.handle(), v.site_));
  return *this;
}
View& View::operator=(Arg v) && {
  const detail::Spelled as("update", kWrite);
  write(kWrite, v);
  return *this;
}

// Writing what one tensor selects

Selection::Selection(Tensor& base, const Tensor& index, const Site& site)
    : base_(&base), base_value_(base), index_(index), site_(site) {
  (void)base.node(kRead, site);
  (void)index.node(kRead, site);
  if (is_mask() || !is_int(index_.handle()->dtype))
    (void)aligned_mask(kRead, base_value_.handle(), index_.handle(), 0, site);
  else if (base_value_.handle()->shape.empty())
    fail<IndexError>(kRead, "1 indices for 0 dimensions of shape []", site);
}

bool Selection::is_mask() const { return is_bool(index_.handle()->dtype); }

Tensor Selection::read(const Site& s) const {
  return Tensor(read_at(base_value_.handle(), index_.handle(), s));
}

bool Selection::fits_each(const Arg& v) const {
  if (!v.is_tensor()) return true;
  const Operand value(kWrite, v);
  const Shape &shape = value->shape, &base = base_value_.handle()->shape;
  const int rest = base.size() - index_.handle()->shape.size();
  if (numel(shape) == 1) return true;
  bool fits = shape.size() <= rest;
  for (int i = 1; fits && i <= shape.size(); ++i)
    fits = shape[shape.size() - i] == 1 || shape[shape.size() - i] == base[base.size() - i];
  return fits;
}

/// Writes a value that fits every selected element.
void Selection::write_each(const char* op, const Arg& v) {
  const Handle& base = base_value_.handle();
  Handle value = stored_as(op, v, base->dtype);
  if (value->shape.size() > base->shape.size() - index_.handle()->shape.size())
    value = detail::reshape(value, {}, v.site());  // of one element
  const Handle mask = aligned_mask(op, base, index_.handle(), 0, v.site());
  base_->update_to(detail::where(op, mask, value, base, v.site()), v.site());
}

/// Writes a value with a row for each element that the mask selects, in order.
void Selection::write_in_order(const char* op, const Arg& v) {
  const Site& s = v.site();
  const Handle &base = base_value_.handle(), &mask = index_.handle();
  const Handle value = stored_as(op, v, base->dtype), chosen = flat(mask, s);
  Shape selected{count_of(op, chosen, s)};
  for (int i = mask->shape.size(); i < base->shape.size(); ++i) selected.push_back(base->shape[i]);
  const Handle rows = fitting_value(op, v, base, selected);
  if (numel(selected) == 0) return;
  // The number of selected elements before an element is the row that it gets.
  Handle row = detail::cast(chosen, int64, s);
  if (row->shape[0] > 1)
    row = detail::record(Op::cumsum, {&row}, int64, row->shape, s, jit::Attributes::along(0));
  row = detail::binary(op, Op::subtract, row, constant(1, int64, {}, row, s), s);
  Shape all = selected;
  all[0] = row->shape[0];
  const Handle at = detail::broadcast(padded(row, 0, all.size() - 1, s), all, s);
  const Handle each = detail::reshape(load_at(op, rows, at, 0, Bounds::clip, s), base->shape, s);
  base_->update_to(detail::where(op, aligned_mask(op, base, mask, 0, s), each, base, s), s);
}

void Selection::write(const char* op, const Arg& v) {
  const Handle& base = base_value_.handle();
  if (!is_mask())
    base_->update_to(written_region(op, base, placed(base, index_.handle(), site_), v), v.site());
  else if (fits_each(v)) write_each(op, v);
  else write_in_order(op, v);
}

template <class F>
Selection& Selection::update(const char* function, const char* typed, F op, const Arg& v) {
  const detail::Spelled as(function, typed), assigned(kWrite, typed), updated("update", typed);
  const Site& s = v.site();
  const Handle& base = base_value_.handle();
  if (is_mask() && fits_each(v)) {
    Arg one = v;
    if (v.is_tensor() && numel(v.handle()->shape) == 1) one = Arg(detail::reshape(v.handle(), {}, s), s);
    const Tensor r = op(Arg(base, s), one);
    base_->update_to(detail::where(kWrite, aligned_mask(kWrite, base, index_.handle(), 0, s),
                                   stored_as(kWrite, Arg(r.handle(), s), base->dtype), base, s),
                     s);
  } else {
    const Tensor r = op(Arg(read_at(base, index_.handle(), s), s), v);
    if (is_mask()) write_in_order(kWrite, Arg(r.handle(), s));
    else write(kWrite, Arg(r.handle(), s));
  }
  return *this;
}

Selection& Selection::operator=(const Selection& v) && {
  write(kWrite, Arg(v.read(v.site_).handle(), v.site_));
  return *this;
}
Selection& Selection::operator=(Arg v) && {
  write(kWrite, v);
  return *this;
}
Selection& Selection::clamp_(Arg low, Arg high) && {
  const Site s = low.site();
  const Tensor r = lazy::clip(Arg(read(s).handle(), s), std::move(low), std::move(high));
  write(kWrite, Arg(r.handle(), s));
  return *this;
}

// Each has the function that errors name as it was typed: x(0) += y.
#define LAZY_UPDATE(Class, symbol, function) \
  Class& Class::operator symbol(Arg v)&& { return update(#function, #symbol, lazy::function, v); }
#define LAZY_UPDATES(Class)                   \
  LAZY_UPDATE(Class, +=, add)                 \
  LAZY_UPDATE(Class, -=, subtract)            \
  LAZY_UPDATE(Class, *=, multiply)            \
  LAZY_UPDATE(Class, /=, divide)              \
  LAZY_UPDATE(Class, %=, remainder)           \
  LAZY_UPDATE(Class, &=, bitwise_and)         \
  LAZY_UPDATE(Class, |=, bitwise_or)          \
  LAZY_UPDATE(Class, ^=, bitwise_xor)         \
  LAZY_UPDATE(Class, <<=, bitwise_left_shift) \
  LAZY_UPDATE(Class, >>=, bitwise_right_shift)
LAZY_UPDATES(View)
LAZY_UPDATES(Selection)
#undef LAZY_UPDATES
#undef LAZY_UPDATE

}  // namespace lazy
