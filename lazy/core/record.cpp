#include "lazy/core/record.hpp"

#include <utility>

#include "lazy/core/memory_format.hpp"
#include "lazy/core/planes.hpp"
#include "lazy/core/samples.hpp"

namespace lazy::detail {
namespace {

constinit std::atomic<Observer*> of_all = nullptr;

/// Calls f(observer) for each observer, the innermost first; in inference only for the thread's own.
/// Meanwhile what the thread records goes only to the observers around it.
template <class F>
void each(F&& f) {
  if (jit::WithinExpansion::on()) [[unlikely]]
    return;
  struct Restore {
    Observing* all;
    ~Restore() { observing = all; }
  } restore{observing};
  for (const Observing* one = restore.all; one; one = one->outer) {
    observing = one->outer;
    f(one->observer);
  }
  Observer* const o = of_all.load(std::memory_order_acquire);
  if (o && !inferring) {
    observing = nullptr;
    f(*o);
  }
}

}  // namespace

thread_local constinit Observing* observing = nullptr;

constinit std::atomic<uint32_t> observers = 0;
thread_local constinit bool inferring = false;
thread_local constinit int samples_followed = 0;
namespace {
thread_local constinit SampleDraws* sample_draws = nullptr;
}  // namespace
SampleDraws::SampleDraws() noexcept : outer_(std::exchange(sample_draws, this)) {}
SampleDraws::~SampleDraws() { sample_draws = outer_; }
SampleDraws* SampleDraws::innermost() noexcept { return sample_draws; }

Handle sample_of(DType t, const Shape& shape, Device device, const Site& s) {
  const Handle nothing = jit::without_value(t == DType::uint8 ? DType::int8 : DType::uint8, shape, device, s);
  return jit::record(Op::cast, {&nothing}, t, shape, s);
}

Observing::Observing(Observer& o) noexcept : observer(o), outer(std::exchange(observing, this)) {
  add_reason();
}
Observing::~Observing() {
  observing = outer;
  drop_reason();
}

void observe_all(Observer& o) { of_all.store(&o, std::memory_order_release); }

void Observer::recorded_call(const RecordedCall&) {}
void Observer::transferred(const Handle&, const Handle&, const Site&) {}
void Observer::begins(const char*, std::span<const Handle* const>, const Site&) {}
void Observer::ends(const char*, const Handle*, const Derivative*) {}
void Observer::derives(const Handle*) {}
void Observer::updated(const Handle&, const Handle&, const Site&) {}

void tell(const Recorded& r) {
  each([&](Observer& o) { o.recorded(r); });
}

void tell_transferred(const Handle& from, const Handle& to, const Site& s) {
  each([&](Observer& o) { o.transferred(from, to, s); });
}

void tell_derives(const Handle* result) {
  each([&](Observer& o) { o.derives(result); });
}

void tell_updated(const Handle& from, const Handle& to, const Site& s) {
  if (from->op == Op::complex && to->op == Op::complex) {
    tell_updated(jit::real_plane(from), jit::real_plane(to), s);
    return tell_updated(jit::imaginary_plane(from), jit::imaginary_plane(to), s);
  }
  // A variable remains what it is, whoever updates it.
  if (inferring && !from->underived && to->handles() == 1) to->underived = false;
  const Inferring off(false);
  each([&](Observer& o) { o.updated(from, to, s); });
}

std::vector<Handle> record_call(const jit::CallSpec& spec, std::span<const Handle* const> operands,
                                const Site& s) {
  for (const Handle* h : operands)
    if (is_complex((*h)->dtype)) [[unlikely]]
      return call_on_planes(spec, operands, s);
  if (any_recipes()) check_read(operands, s);
  if (!observed()) {
    std::vector<Handle> outputs = jit::record_call(spec, operands, s);
    if (inferring)
      for (const Handle& h : outputs) h->underived = true;
    return outputs;
  }
  bool as_ops = false;
  each([&](Observer& o) { as_ops |= o.wants_ops(spec, operands); });
  if (as_ops) return jit::record_expanded(spec, operands, s);
  std::vector<Handle> outputs = jit::record_call(spec, operands, s);
  each([&](Observer& o) { o.recorded_call({spec, operands, outputs, s}); });
  return outputs;
}

std::vector<Handle> record_expanded(const jit::CallSpec& spec, std::span<const Handle* const> operands,
                                    const Site& s) {
  for (const Handle* h : operands)
    if (is_complex((*h)->dtype)) [[unlikely]]
      return call_on_planes(spec, operands, s);
  return jit::record_expanded(spec, operands, s);
}

Handle iota(int axis, const Shape& shape, Device device, const Site& s) {
  Handle result = jit::transfer(jit::iota(axis, shape, s), device, s);
  if (observed()) tell({Op::iota, {}, jit::Attributes::along(axis), result, s});
  return result;
}

Handle overwritten(DType t, const Shape& shape, Device device, const Site& s) {
  if (is_complex(t)) {
    const DType plane = plane_type(t);
    return complex(overwritten(plane, shape, device, s), overwritten(plane, shape, device, s), s);
  }
  Handle result = jit::overwritten(t, shape, device, s);
  if (observed()) tell({Op::constant, {}, {.ints = {}, .steps = {}, .axes = result->axes}, result, s});
  return result;
}

Handle transfer(const Handle& h, Device device, const Site& s) {
  if (is_complex(h->dtype))
    return complex(detail::transfer(jit::real_plane(h), device, s),
                   detail::transfer(jit::imaginary_plane(h), device, s), s);
  const Handle* const operand = &h;
  if (any_recipes()) check_read({&operand, 1}, s);
  if (h->channels_last && h->device != device)  // a transfer's result is packed
    return seen_first(detail::transfer(seen_last(h, s), device, s), s);
  Handle result = jit::transfer(h, device, s);
  if (result.get() == h.get()) return result;
  if (observed()) tell_transferred(h, result, s);
  else if (inferring) result->underived = true;
  return result;
}

void Composite::begin(std::initializer_list<const Handle*> operands, const Site& s) {
  for (const Handle* h : operands)
    if (*h && is_complex((*h)->dtype)) return;  // its ops are differentiated: they are of the planes
  if (any_recipes()) check_read(operands, s);
  each([&](Observer& o) { o.begins(name_, operands, s); });
  told_ = true;
}

void Composite::end(const Handle* result, const Derivative* derivative) {
  told_ = false;
  each([&](Observer& o) { o.ends(name_, result, derivative); });
}

}  // namespace lazy::detail
