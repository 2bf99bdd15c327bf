// Runs a random program.
#include <cmath>
#include <cstring>

#include "jit/graph/record.hpp"
#include "lazy/core/unchanging.hpp"
#include "support/fp16.hpp"
#include "tests/differential/random_graph.hpp"

namespace random_graph {
namespace {

using namespace lazy;

uint64_t scramble(uint64_t a, uint64_t b) {
  a = (a ^ b * 0x9e3779b97f4a7c15u) * 0xff51afd7ed558ccdu;
  return a ^ a >> 33;
}

double real_value(Random& r, bool specials) {
  constexpr double odd[] = {0.,   -0.,    INFINITY, -INFINITY, NAN,    1,  -1,
                            1e30, -1e-30, 1e-42,    65504,     3.3e38, 0.5};
  if (specials && r() % 5 == 0) return odd[r() % std::size(odd)];
  return static_cast<double>(static_cast<int64_t>(r() % 4096) - 2048) / 512.0;
}
int64_t integer_value(Random& r, bool specials) {
  constexpr int64_t odd[] = {0,      -1,        127,       -128,      255,      32767,
                             -32768, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
  if (specials && r() % 5 == 0) return odd[r() % std::size(odd)];
  return static_cast<int64_t>(r() % 13) - 5;
}

void put(unsigned char* at, DType t, Random& r, bool specials) {
  const auto as = [&](auto v) { std::memcpy(at, &v, sizeof v); };
  const double d = is_float(t) ? real_value(r, specials) : 0;
  const int64_t i = is_float(t) ? 0 : integer_value(r, specials);
  switch (t) {
    case bool_: return as(static_cast<uint8_t>(i > 0));
    case int8:
    case uint8: return as(static_cast<uint8_t>(i));
    case int16:
    case uint16: return as(static_cast<uint16_t>(i));
    case int32:
    case uint32: return as(static_cast<uint32_t>(i));
    case int64:
    case uint64: return as(i);
    case float16: return as(float16_t(static_cast<float>(d)));
    case bfloat16: return as(bfloat16_t(static_cast<float>(d)));
    case float32: return as(static_cast<float>(d));
    case float64: return as(d);
    case complex64:
    case complex128: throw std::logic_error("random graphs have no complex numbers");
  }
}

Index index_of(const Range& r) {
  if (r.integer) return Index(r.start);
  return Index(slice(r.has_start ? SliceBound(r.start) : SliceBound(none),
                     r.has_stop ? SliceBound(r.stop) : SliceBound(none), SliceBound(r.step)));
}

Axes axes_of(const std::vector<int>& axes) {
  Dims d;
  for (int a : axes) d.push_back(a);
  return Axes(d);
}

Tensor convolved(const Statement& s, const Tensor& x, const Tensor& w) {
  const size_t n = s.axes.size() / 3;
  const auto part = [&](size_t which) {
    Dims d;
    for (size_t i = 0; i < n; ++i) d.push_back(s.axes[which * n + i]);
    return Axes(d);
  };
  ConvOptions o{part(0), part(1), part(2)};
  o.layout = s.flipped ? channels_last : channels_first;
  if (s.keepdims) o.groups = x.size(s.flipped ? -1 : 1);
  return conv(x, w, o);
}

/// Returns integers as indices: in range where the rule throws otherwise.
Tensor index_for(const Statement& s, const Tensor& x, const Tensor& at) {
  if (static_cast<Bounds>(s.axes[1]) != Bounds::check) return at;
  return remainder(astype(at, int64), std::max<int64_t>(1, x.size(s.axes[0])));
}

bool is_nan(const unsigned char* p, DType t) {
  const auto load = [&](auto v) {
    std::memcpy(&v, p, sizeof v);
    return std::isnan(static_cast<double>(v));
  };
  switch (t) {
    case float16: return load(float16_t{});
    case bfloat16: return load(bfloat16_t{});
    case float32: return load(float{});
    case float64: return load(double{});
    default: return false;
  }
}

}  // namespace

Machine::Machine(const Program& p, Inputs in) : program_(p), inputs_(in) {}

int64_t Machine::extent(const Dim& d) const {
  int64_t n = 1;
  for (int id : d) {
    const Symbol& s = program_.symbols[static_cast<size_t>(id)];
    if (!s.derived) {
      n *= inputs_.second_sizes ? s.second : s.first;
      continue;
    }
    const int64_t length = extent(s.of), step = s.range.step;
    const auto clamp = [&](int64_t v, int64_t low, int64_t high) {
      return std::max(low, std::min(high, v < 0 ? v + length : v));
    };
    int64_t count = 0;
    if (step > 0) {
      const int64_t from = s.range.has_start ? clamp(s.range.start, 0, length) : 0;
      const int64_t to = s.range.has_stop ? clamp(s.range.stop, 0, length) : length;
      count = std::max<int64_t>(0, (to - from + step - 1) / step);
    } else {
      const int64_t from = s.range.has_start ? clamp(s.range.start, -1, length - 1) : length - 1;
      const int64_t to = s.range.has_stop ? clamp(s.range.stop, -1, length - 1) : -1;
      count = std::max<int64_t>(0, (from - to - step - 1) / -step);
    }
    n *= count;
  }
  return n;
}

Tensor Machine::input(const Statement& s) {
  if (!inputs_.marked) return new_input(s);
  if (next_input_ == inputs_.marked->size()) {
    inputs_.marked->push_back(new_input(s));
    if (s.salt % 4) detail::mark_unchanging(inputs_.marked->back());
  }
  return (*inputs_.marked)[next_input_++];
}

Tensor Machine::new_input(const Statement& s) {
  Random r(scramble(s.salt, inputs_.salt));
  Shape shape;
  for (const Dim& d : s.dims) shape.push_back(extent(d));
  const size_t size = size_of(s.dtype), n = static_cast<size_t>(numel(shape));
  if (s.layout == 0) {
    std::vector<unsigned char> bytes(n * size);
    for (size_t i = 0; i < n; ++i) put(bytes.data() + i * size, s.dtype, r, program_.specials);
    return Tensor(jit::from_bytes(bytes.data(), s.dtype, shape, default_device(), Site::current()));
  }
  // Lays out the user's memory: axes in another order, gaps, backwards, or one element for all of an axis.
  Random how(s.salt);
  const int rank = shape.size();
  std::vector<int> order(static_cast<size_t>(rank));
  for (int i = 0; i < rank; ++i) order[static_cast<size_t>(i)] = i;
  if (s.layout & 1) std::shuffle(order.begin(), order.end(), how);
  std::vector<int64_t> strides(static_cast<size_t>(rank), 0);
  int64_t span = 1, origin = 0;
  for (int k = rank - 1; k >= 0; --k) {
    const int axis = order[static_cast<size_t>(k)];
    const bool broadcast = (s.layout & 8) && how() % 3 == 0;
    const int64_t gap = (s.layout & 2) && how() % 2 ? 2 : 1;
    const bool backwards = (s.layout & 4) && how() % 2;
    if (broadcast) continue;
    const int64_t stride = span * gap, last = stride * std::max<int64_t>(0, shape[axis] - 1);
    if (backwards) origin += last;
    strides[static_cast<size_t>(axis)] = backwards ? -stride : stride;
    span = std::max<int64_t>(span, last + span);
  }
  Blob blob;
  blob.bytes = std::make_shared<std::vector<unsigned char>>(static_cast<size_t>(span) * size);
  for (size_t i = 0; i < static_cast<size_t>(span); ++i)
    put(blob.bytes->data() + i * size, s.dtype, r, program_.specials);
  blob.before = *blob.bytes;
  void* const data = blob.bytes->data() + static_cast<size_t>(origin) * size;
  blobs_.push_back(blob);
  return from_blob(data, shape, s.dtype, strides, [keep = blob.bytes](void*) {});
}

bool Machine::blobs_untouched() const {
  for (const Blob& b : blobs_)
    if (*b.bytes != b.before) return false;
  return true;
}

Tensor Machine::sliced(const Statement& s, Tensor& x, const Tensor* value) {
  std::vector<Index> at(5);
  for (size_t i = 0; i < s.ranges.size(); ++i) at[i] = index_of(s.ranges[i]);
  if (!value) return std::as_const(x)(at[0], at[1], at[2], at[3], at[4]);
  if (s.flipped) x(at[0], at[1], at[2], at[3], at[4]) += *value;
  else x(at[0], at[1], at[2], at[3], at[4]) = *value;
  return x;
}

static Tensor joined(const Tensor& a, const Tensor& b, int axis, bool concatenated) {
  if (!concatenated) return max(stack({a, b, a}, axis), {axis});
  const Tensor all = swapaxes(concat({a, b, a}, axis), 0, axis);
  const int64_t n = a.shape()[axis];
  return swapaxes(maximum(all(slice(0, n)), all(slice(n, 2 * n))), 0, axis);
}

Tensor Machine::make(const Statement& s) {
  const auto reg = [&](int i) -> const Tensor& { return registers_[static_cast<size_t>(s.operand[i])]; };
  Shape shape;
  for (const Dim& d : s.dims) shape.push_back(extent(d));
  Random r(scramble(s.salt, inputs_.salt));
  switch (s.kind) {
    case Kind::input: return input(s);
    case Kind::arange: return arange(0, shape[0], 1, s.dtype);
    case Kind::full:
      return full(shape,
                  is_float(s.dtype) ? ScalarNumber(real_value(r, program_.specials)) : ScalarNumber(r() % 7),
                  s.dtype);
    case Kind::eye: return eye(shape[0], shape[1], static_cast<int64_t>(s.salt % 3) - 1, s.dtype);
    case Kind::triangle: return s.flipped ? tril(reg(0), s.fn) : triu(reg(0), s.fn);
    case Kind::unary: return kUnary[static_cast<size_t>(s.fn)].f(reg(0));
    case Kind::binary: return kBinary[static_cast<size_t>(s.fn)].f(reg(0), reg(1));
    case Kind::with_scalar: {
      const auto f = kBinary[static_cast<size_t>(s.fn)].f;
      if (kBinary[static_cast<size_t>(s.fn)].name == std::string("pow"))
        r.seed(s.salt);  // a salt, as x^2 is another graph
      const auto apply = [&](auto v) { return s.flipped ? f(v, reg(0)) : f(reg(0), v); };
      const double real = static_cast<double>(static_cast<int64_t>(r() % 33) - 16) / 4;
      switch (s.scalar_kind) {
        case 0: return apply(r() % 2 == 0);
        case 1: return apply(static_cast<int>(r() % 8));
        case 2: return apply(static_cast<float>(real));
        default: return apply(real);
      }
    }
    case Kind::where: return where(reg(0), reg(1), reg(2));
    case Kind::cast: return astype(reg(0), s.dtype);
    case Kind::reshape: return reshape(reg(0), shape);
    case Kind::permute: return permute(reg(0), axes_of(s.axes));
    case Kind::slice: {
      Tensor x = reg(0);
      return sliced(s, x, nullptr);
    }
    case Kind::flip: return flip(reg(0), axes_of(s.axes));
    case Kind::window: return sliding_window_view(reg(0), s.axes[1], s.axes[0], s.ranges[0].step, s.axes[2]);
    case Kind::expand: return expand_dims(reg(0), s.axes[0]);
    case Kind::squeeze: return squeeze(reg(0), axes_of(s.axes));
    case Kind::broadcast: return broadcast_to(reg(0), shape);
    case Kind::reduce: return kReduce[static_cast<size_t>(s.fn)].f(reg(0), axes_of(s.axes), s.keepdims);
    case Kind::scan: return kScan[static_cast<size_t>(s.fn)].f(reg(0), axes_of(s.axes));
    case Kind::matmul: return matmul(reg(0), reg(1));
    case Kind::convolve: return convolved(s, reg(0), reg(1));
    case Kind::attention: return scaled_dot_product_attention(reg(0), reg(1), reg(2), {}, s.flipped);
    case Kind::take: {
      const auto rule = static_cast<Bounds>(s.axes[1]);
      const Tensor at = index_for(s, reg(0), reg(1));
      return s.keepdims ? take_along_axis(reg(0), at, s.axes[0], rule) : take(reg(0), at, s.axes[0], rule);
    }
    case Kind::put:
      return scatter(reg(0), s.axes[0], index_for(s, reg(0), reg(1)), reg(2), static_cast<Combine>(s.axes[2]),
                     static_cast<Bounds>(s.axes[1]));
    case Kind::assign: {
      Tensor x = reg(0);
      return sliced(s, x, &reg(1));
    }
    case Kind::assign_mask: {
      Tensor x = reg(0);
      if (s.flipped) x(reg(1)) *= 2;
      else x(reg(1)) = static_cast<int>(r() % 5);
      return x;
    }
    case Kind::sort: {
      const Sorted both = sort(reg(0), s.axes[0], s.keepdims);
      return s.flipped ? both.indices : both.values;
    }
    case Kind::join: return joined(reg(0), reg(1), s.axes[0], s.flipped);
    case Kind::read: read(s.operand[0]); return reg(0);
  }
  return {};
}

// Notes what this run's sizes decide about the key.
void Machine::sign(const Statement& s) {
  const Shape& out = registers_.back().shape();
  for (int64_t n : out) signature_.push_back(std::min<int64_t>(n, 2));
  // A view of memory is no op at all. Extents decide whether a reshape of strided memory can be one...
  if (s.kind == Kind::reshape) {
    const jit::Node& n = *registers_.back().handle().get();
    signature_.push_back(n.op != jit::Op::input ? 0 : n.contiguous ? 1 : 2);
  }
  // ... and whether windows cover their axis, so that reading them copies nothing.
  if (s.kind == Kind::window)
    signature_.push_back(out[s.axes[0]] * s.ranges[0].step ==
                         registers_[static_cast<size_t>(s.operand[0])].shape()[s.axes[0]]);
  // A convolution's windows may cover their axes, too; rows may be long enough for lanes to run along them;
  // and a reshape is a view or not.
  if (s.kind == Kind::convolve) {
    const Tensor& image = registers_[static_cast<size_t>(s.operand[0])];
    const int n = static_cast<int>(s.axes.size()) / 3, first = s.flipped ? 1 : 2;
    int64_t windows = 1;
    for (int i = 0; i < n; ++i) {
      const int64_t count = out[first + i];
      windows *= count;
      signature_.push_back(count >= 48);
      signature_.push_back(count * s.axes[static_cast<size_t>(i)] ==
                           image.shape()[first + i] + 2 * s.axes[static_cast<size_t>(n + i)]);
    }
    signature_.push_back(windows >= 48);
    // Padding is filled before the image is put into it, or strip by strip; and few windows that lie apart
    // are laid out as one matrix.
    double whole = 1, part = 1;
    for (int i = 0; i < n; ++i) {
      const auto extent = static_cast<double>(image.shape()[first + i]);
      part *= extent, whole *= extent + 2.0 * static_cast<double>(s.axes[static_cast<size_t>(n + i)]);
    }
    signature_.push_back(part >= 0.75 * whole);
    signature_.push_back(out[first + n - 1] <= 16);
    // How many windows are multiplied as one; and a window that covers an axis leaves one place for it.
    signature_.push_back(windows >= 96);
    signature_.push_back(windows >= 160 ? windows : 0);
    const Shape& weights = registers_[static_cast<size_t>(s.operand[1])].shape();
    for (int i = 0; i < n; ++i)
      signature_.push_back((weights[s.flipped ? i : 2 + i] - 1) * s.axes[static_cast<size_t>(2 * n + i)] +
                               1 ==
                           image.shape()[first + i]);
    const jit::Node& node = *image.handle().get();
    if (node.op == jit::Op::input && !node.contiguous) signature_.push_back(inputs_.second_sizes);
  }
  // Which axes a slice covers completely is structure.
  const std::vector<Dim>& region = s.kind == Kind::assign ? s.region : s.dims;
  size_t k = 0;
  for (size_t i = 0; i < s.ranges.size(); ++i) {
    if (s.ranges[i].integer) continue;
    const int64_t n = extent(region[k++]);
    const Shape& from = registers_[static_cast<size_t>(s.operand[0])].shape();
    signature_.push_back(std::min<int64_t>(n, 2));
    signature_.push_back(n == from[static_cast<int>(i)]);
  }
  for (int o : s.operand) {
    if (o < 0) break;
    const Shape& in = registers_[static_cast<size_t>(o)].shape();
    signature_.push_back(in == out);
    for (int i = 0; i < std::min(in.size(), out.size()); ++i) signature_.push_back(in[i] == out[i]);
    Dims a, b;
    for (int64_t n : in)
      if (n != 1) a.push_back(n);
    for (int64_t n : out)
      if (n != 1) b.push_back(n);
    signature_.push_back(a == b);
  }
}

void Machine::step(const Statement& s) {
  registers_.push_back(make(s));
  sign(s);
}

void Machine::read(int reg) {
  const Tensor& x = registers_[static_cast<size_t>(reg)];
  Output o{reg, x.dtype(), x.shape(), {}};
  jit::BufferRef keep;
  const void* data = jit::contiguous_data(x.handle(), jit::Cause::data, Site::current(), keep);
  o.bytes.resize(x.nbytes());
  if (!o.bytes.empty()) std::memcpy(o.bytes.data(), data, o.bytes.size());
  outputs_.push_back(std::move(o));
}

std::vector<Output> Machine::run(const std::function<bool(int)>& looked_at) {
  const auto count = static_cast<int>(program_.statements.size());
  for (int i = 0; i < count; ++i) {
    step(program_.statements[static_cast<size_t>(i)]);
    for (int r = 0; r <= i; ++r)
      if (program_.dropped_after[static_cast<size_t>(r)] == i) registers_[static_cast<size_t>(r)] = Tensor();
  }
  for (int r = 0; r < count; ++r)
    if (registers_[static_cast<size_t>(r)].defined() && (!looked_at || looked_at(r))) read(r);
  return std::move(outputs_);
}

std::string difference(const std::vector<Output>& a, const std::vector<Output>& b) {
  if (a.size() != b.size()) return std::to_string(a.size()) + " outputs against " + std::to_string(b.size());
  for (size_t k = 0; k < a.size(); ++k) {
    const Output &x = a[k], &y = b[k];
    const std::string name = "r" + std::to_string(x.reg);
    if (x.reg != y.reg || x.dtype != y.dtype || !(x.shape == y.shape))
      return name + " has another dtype or shape";
    const size_t size = size_of(x.dtype);
    for (size_t i = 0; i < x.bytes.size(); i += size) {
      const auto *p = x.bytes.data() + i, *q = y.bytes.data() + i;
      if (std::memcmp(p, q, size) == 0 || (is_nan(p, x.dtype) && is_nan(q, x.dtype))) continue;
      const auto text = [&](const unsigned char* v) { return format(v, x.dtype, {}); };
      return name + " (" + name_of(x.dtype) + " " + to_string(x.shape) + ") differs at element " +
             std::to_string(i / size) + ": " + text(p) + " and " + text(q);
    }
  }
  return {};
}

}  // namespace random_graph
