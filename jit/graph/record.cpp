#include "jit/graph/record.hpp"

#include <algorithm>
#include <memory>

#include "jit/backend/registry.hpp"
#include "jit/core/bytes.hpp"
#include "jit/graph/accuracy.hpp"
#include "jit/graph/capturing.hpp"
#include "jit/graph/graph.hpp"
#include "jit/graph/layout.hpp"
#include "jit/graph/nan_origin.hpp"
#include "jit/graph/observed.hpp"
#include "jit/graph/recording.hpp"
#include "support/config.hpp"
#include "support/error.hpp"
#include "support/metrics.hpp"

namespace lazy::jit {
namespace {

// Resolves a view of a value that exists: it is a value too, and no node waits.
bool resolve_view(Node* n) {
  Node* base = n->operand[0];
  Layout out;
  if (!base->ready() || !view_layout(*n, layout_of(*base), out)) return false;
  watch::note_use(*base);
  n->buffer = base->buffer;
  n->offset = out.offset;
  n->of_frozen = base->frozen || base->of_frozen;
  n->contiguous = out.is_contiguous();
  if (!n->contiguous) n->strides = out.strides;
  drop_reference(n->operand[0]);
  n->arity = 0;
  n->op = Op::input;
  n->state.store(State::ready, std::memory_order_release);
  return true;
}

// Checks that bytes of a tensor are countable; the allocator decides if there are so many.
void check_size(Op op, const Shape& shape, const Site& site) {
  // A constant without elements may have any extents: nothing is computed with it.
  if (!countable(shape) && (op != Op::constant || std::find(shape.begin(), shape.end(), 0) == shape.end()))
    throw ShapeError(std::string(op == Op::constant ? "full" : name_of(op)) + ": shape " + to_string(shape) +
                         " has more elements than can be addressed",
                     site);
}

Handle make_ready(BufferRef buffer, DType type, const Shape& shape, Device device, const Site& site) {
  Node* n = make_node(Op::input, type, shape, site);
  n->device = device;
  n->buffer = std::move(buffer);
  if (n->buffer) n->buffer->belongs(site);
  n->state.store(State::ready, std::memory_order_release);
  if (nan_origin::wanted()) [[unlikely]]
    nan_origin::forget(n);
  Handle h = Handle::adopt(n);
  if (Capturing* const c = Capturing::current()) [[unlikely]]
    c->made.push_back(h);
  return h;
}

}  // namespace

thread_local constinit const char* Purpose::current_ = nullptr;
thread_local constinit int8_t AccuracyScope::current_ = -1;
thread_local constinit bool WithinExpansion::on_ = false;

Node* make_node(Op op, DType type, const Shape& shape, const Site& site) {
  check_size(op, shape, site);
  return make_node_like(op, type, shape, site);
}

void fail_on_two_devices(const char* op, const Node& a, const Node& b, const Site& site) {
  throw DeviceError(std::string(op) + ": operands are on " + to_string(a.device) + " and " +
                        to_string(b.device) + "; move one with to()",
                    site);
}

Device device_of_sources(std::span<const Handle* const> operands, const Site& site) {
  const Device usual = default_device(site);
  for (const Handle* o : operands)
    if ((*o)->device != usual) return (*o)->device;
  return usual;
}

Linked link_node(Graph& graph, Node* n, std::span<const Handle* const> operands, const Site& site,
                 GivenHandles* handles) {
  n->graph = &graph;
  Linked linked = graph.link(n, handles);
  while (linked.limit == Limit::nodes_before) [[unlikely]] {
      for (const Handle* o : operands)
        if (!is_source((*o)->op)) {
          const Handle* one[] = {o};
          evaluate(one, Cause::node_limit, site);
        }
      linked = graph.link(n, handles);
    }
  return linked;
}

void obey(const Handle& result, Limit limit) {
  const bool eager = config::get().eager;
  if (!eager && limit == Limit::none) return;
  if (records_apart()) return;
  const Handle* one[] = {&result};
  evaluate(one,
           eager                   ? Cause::eager
           : limit == Limit::nodes ? Cause::node_limit
                                   : Cause::byte_limit,
           result->site);
}

namespace {

/// Completes a view's attributes. True if its operand is a value: then the view is one, too.
[[gnu::noinline]] bool found_at_once(Node* n) {
  const Node& from = *n->operand[0];
  if (n->op == Op::reshape && without_ones(from.shape) == without_ones(n->shape)) mark_unit_reshape(*n);
  if (n->op == Op::slice) {  // which axes are complete is structure; where the others start is an argument
    n->axes.clear();
    for (int i = 0; i < n->shape.size(); ++i)
      n->axes.push_back(n->ints[i] == 0 && n->steps[i] == 1 && n->shape[i] == from.shape[i]);
  }
  n->contiguous_axis = contiguous_axis_of_view(*n);
  // What is captured runs later with other memory in the place of the operand's.
  if (Capturing::current() && records_apart()) [[unlikely]]
    return false;
  return resolve_view(n);
}

}  // namespace

Handle record(Op op, std::initializer_list<const Handle*> operand_list, DType type, const Shape& shape,
              const Site& site, const Attributes& attributes, unsigned given) {
  const std::span<const Handle* const> operands(operand_list.begin(), operand_list.size());
  metric::add(MetricCounter::nodes_recorded);
  Graph& graph = Graph::mine();
  const bool at_hand = are_at_hand(graph, operands);
  if (!at_hand) settle_elsewhere(graph, operands, site);
  const Device device =
      at_hand ? (*operand_list.begin())->get()->device : device_of(name_of(op), operands, site);
  // Every value's shape is countable, and most results have the very shape of an operand.
  const bool as_first = at_hand && &shape == &(*operand_list.begin())->get()->shape;
  Node* n = as_first ? make_node_like(op, type, shape, site) : make_node(op, type, shape, site);
  n->device = device;
  if (row_of(op).exactness >= Exactness::standard) n->accuracy = form_of(op, type, AccuracyScope::current());
  Handle result = Handle::adopt(n);
  const bool is_view = kind_of(op) == OpKind::view;
  const bool seeks_nan = nan_origin::wanted();
  GivenHandles handles(operands, is_view || seeks_nan ? 0 : given);
  int arity = 0;
  for (const Handle* o : operands) {
    if (!handles.has(arity)) add_reference(o->get());
    n->operand[arity] = o->get();
    n->arity = ++arity;
  }
  if (attributes.ints.size()) n->ints = attributes.ints;
  if (attributes.steps.size()) n->steps = attributes.steps;
  if (attributes.axes.size()) n->axes = attributes.axes;
  if (!is_view || !found_at_once(n)) {
    const Linked linked = link_node(graph, n, operands, site, &handles);
    if (linked.waits) [[unlikely]]
      await_inputs(*n, operands, site);
    obey(result, linked.limit);
  }
  if (seeks_nan) [[unlikely]]
    nan_origin::note(name_of(op), result, operands);
  return result;
}

Handle constant(Scalar value, DType type, const Shape& shape, const Site& site) {
  return constant(value, type, shape, default_device(site), site);
}

Handle constant(Scalar value, DType type, const Shape& shape, Device device, const Site& site) {
  Node* n = make_node(Op::constant, type, shape, site);
  n->scalar = value;
  n->device = device;
  n->graph = &Graph::mine();
  if (nan_origin::wanted()) [[unlikely]]
    nan_origin::forget(n);
  return Handle::adopt(n);
}

Handle overwritten(DType type, const Shape& shape, Device device, const Site& site) {
  Handle h = constant(Scalar{}, type, shape, device, site);
  // The verifier compares every byte, also of an update that is not the last one.
  if (config::get().verify == config::Verify::off) mark_overwritten(*h.get());
  return h;
}

Handle iota(int axis, const Shape& shape, const Site& site) {
  Node* n = make_node(Op::iota, DType::int64, shape, site);
  n->axes.push_back(axis);
  n->device = default_device(site);
  n->graph = &Graph::mine();
  return Handle::adopt(n);
}

Handle from_bytes(const void* bytes, DType type, const Shape& shape, Device device, const Site& site) {
  const size_t size = bytes_of(shape, type);
  Backend& backend = backend_of(device, site);
  BufferRef buffer = BufferRef::allocate(backend, size);
  if (size) backend.write(buffer->data(), bytes, size);
  return make_ready(std::move(buffer), type, shape, device, site);
}

Handle without_value(DType type, const Shape& shape, Device device, const Site& site) {
  Handle h = make_ready(BufferRef(), type, shape, device, site);
  h->lost = true;
  return h;
}

Handle from_pieces(const std::function<void(char*, uint64_t, uint64_t)>& read, DType type, const Shape& shape,
                   Device device, const Site& site) {
  constexpr size_t kPiece = size_t{1} << 20;  // fits into the caches
  const size_t size = bytes_of(shape, type);
  Backend& backend = backend_of(device, site);
  BufferRef buffer = BufferRef::allocate(backend, size);
  const std::unique_ptr<char[]> piece(new char[std::min(size, kPiece) + 1]);
  for (size_t at = 0; at < size; at += kPiece) {
    const size_t n = std::min(kPiece, size - at);
    read(piece.get(), at, n);
    backend.write(static_cast<char*>(buffer->data()) + at, piece.get(), n);
  }
  return make_ready(std::move(buffer), type, shape, device, site);
}

namespace {

/// Returns a value that has no memory yet, of the layout of these strides (none: contiguous).
Handle laid_out(DType type, const Shape& shape, const Dims& strides, Device device, const Site& site) {
  Handle h = make_ready(BufferRef(), type, shape, device, site);
  if (strides.empty()) return h;
  const Layout l{shape, strides, 0};
  h->contiguous = l.is_contiguous();
  if (!h->contiguous) {
    h->strides = strides;
    h->contiguous_axis = minor_of_strides(shape, strides);
  }
  return h;
}

}  // namespace

Handle from_blob(void* data, DType type, const Shape& shape, const Dims& strides,
                 std::function<void(void*)> deleter, Device device, const Site& site) {
  const size_t bytes = bytes_of(shape, type);
  Handle h = laid_out(type, shape, strides, Device{}, site);
  const bool stays = device == Device{};
  // The deleter is handed over when nothing can fail any more: until then the caller owns the memory.
  h->buffer = BufferRef::borrow(data, bytes, stays ? std::move(deleter) : nullptr);
  if (stays) return h;
  Handle copy = transfer(h, device, site);
  h = {};
  (void)BufferRef::borrow(data, bytes, std::move(deleter));  // the memory has been copied
  return copy;
}

Handle from_device_blob(void* data, DType type, const Shape& shape, const Dims& strides,
                        std::function<void(void*)> deleter, Device device, const Site& site) {
  Backend& backend = backend_of(device, site);
  Handle h = laid_out(type, shape, strides, device, site);
  h->buffer = BufferRef::borrow(data, bytes_of(shape, type), std::move(deleter), &backend);
  return h;
}

namespace {

/// Evaluates and makes row-major, on its device.
Handle packed(const Handle& h, Cause cause, const Site& site) {
  const Handle* one[] = {&h};
  evaluate(one, cause, site);
  if (h->contiguous) return h;
  const Handle copy = record(Op::cast, {&h}, h->dtype, h->shape, site);  // a cast to its own type is a copy
  one[0] = &copy;
  evaluate(one, cause, site);
  return copy;
}

}  // namespace

Handle transfer(const Handle& h, Device to, const Site& site) {
  Backend& target = backend_of(to, site);
  if (h->device == to) return h;
  if (h->op == Op::constant || h->op == Op::iota) {
    if (h->op == Op::constant) return constant(h->scalar, h->dtype, h->shape, to, site);
    const Handle there = iota(axis_of(*h.get()), h->shape, site);
    there->device = to;
    return there;
  }
  const Handle from = packed(h, Cause::transfer, site);
  const size_t bytes = bytes_of(from->shape, from->dtype);
  BufferRef buffer = located<DeviceError>(site, [&] {
    BufferRef made = BufferRef::allocate(target, bytes);
    Backend& source = backend_of(*from->buffer.get());
    if (bytes == 0) {
    } else if (target.host()) {
      source.read(made->data(), from->data(), bytes);
    } else if (source.host()) {
      target.write(made->data(), from->data(), bytes);
    } else {
      target.copy_from(source, made->data(), from->data(), bytes);
    }
    return made;
  });
  return make_ready(std::move(buffer), h->dtype, h->shape, to, site);
}

const void* contiguous_data(const Handle& h, Cause cause, const Site& site, BufferRef& keep) {
  const Handle there = packed(h, cause, site);
  keep = there->buffer;
  Backend& backend = backend_of(*keep.get());
  const auto looked = [&](const void* data) {
    if (nan_origin::wanted()) [[unlikely]]
      nan_origin::look(h, data, site);
    return data;
  };
  if (backend.host()) return looked(there->data());
  const size_t bytes = bytes_of(there->shape, there->dtype);
  keep = BufferRef::allocate(*backends().main, bytes);
  if (bytes) located<DeviceError>(site, [&] { backend.read(keep->data(), there->data(), bytes); });
  return looked(keep->data());
}

}  // namespace lazy::jit
