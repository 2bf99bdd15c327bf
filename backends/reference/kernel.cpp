#include "backends/reference/kernel.hpp"

#include <algorithm>
#include <cfenv>
#include <cstring>

#include "backends/reference/accumulate.hpp"

namespace lazy::reference {
namespace {
using namespace jit::loop;

/// Copies n elements of `size` bytes between packed and strided memory.
template <class T>
void gather(const char* from, int64_t stride, void* to, int n) {
  for (int i = 0; i < n; ++i) std::memcpy(static_cast<T*>(to) + i, from + i * stride, sizeof(T));
}
template <class T>
void scatter(const void* from, char* to, int64_t stride, int n) {
  for (int i = 0; i < n; ++i) std::memcpy(to + i * stride, static_cast<const T*>(from) + i, sizeof(T));
}
template <class F>
void with_size(size_t size, F&& f) {
  switch (size) {
    case 1: return f(uint8_t{});
    case 2: return f(uint16_t{});
    case 4: return f(uint32_t{});
    default: return f(uint64_t{});
  }
}

}  // namespace

LoopsKernel::LoopsKernel(const LoopKernel& k, MeaningOf find) : k_(k) {
  check(k_);
  for (const Instr& s : k_.body) {
    // The meaning of `where` is chosen by the type of its values, that of other ops by their first operand's.
    const ValueId typed = s.op == jit::Op::where ? s.b : s.a;
    meanings_.push_back(s.code == Code::op ? find(s, k_.body[typed].type) : nullptr);
  }
}

/// Runs one launch.
class Run {
 public:
  Run(const LoopsKernel& kernel, const uint64_t* args)
      : k_(kernel.k_),
        meanings_(kernel.meanings_),
        args_(args),
        layout_(layout_of(k_)),
        vector_axis_(k_.rank - 1) {
    for (int i = 0; i < k_.rank; ++i) extent_[i] = static_cast<int64_t>(args[layout_.extent(i)]);
    values_.resize(k_.body.size());
    for (const Reduction& r : k_.reductions)
      if (k_.form == Form::reduce)
        accumulators_.push_back(make_accumulator(r, inner(), origin(k_.sequential)));
    if (k_.form == Form::contract) accumulators_.push_back(make_contraction(k_.contraction.type));
    running_.resize(std::max(accumulators_.size(), k_.reductions.size()));
  }

  void all() {
    for (int i = 0; i < k_.rank; ++i)
      if (extent_[i] <= 0 && !(k_.has_epilogue() && i == k_.sequential)) return;
    do {
      switch (k_.form) {
        case Form::map:
          strips(extent_[vector_axis_], [&](int n) {
            evaluate(0, k_.body.size(), n);
            store(0, n);
          });
          break;
        case Form::reduce:
          if (inner()) reduce_inner();
          else strips(extent_[vector_axis_], [&](int n) { reduce_outer(n); });
          break;
        case Form::contract: strips(extent_[vector_axis_], [&](int n) { reduce_outer(n); }); break;
        case Form::scatter:
          strips(extent_[vector_axis_], [&](int n) {
            evaluate(0, k_.body.size(), n);
            store_at(k_.stores[0], n);
          });
          break;
        case Form::scan: strips(extent_[vector_axis_], [&](int n) { scan(n); }); break;
      }
    } while (advance());
  }

 private:
  struct alignas(64) Strip {
    char bytes[kStrip * 8];
  };

  bool inner() const { return k_.sequential == vector_axis_; }
  int64_t origin(int axis) const { return static_cast<int64_t>(args_[layout_.origin(axis)]); }

  /// Cuts [0, extent) of the innermost axis; index_ points to the strip's first lane.
  template <class F>
  void strips(int64_t extent, F&& f) {
    for (int64_t i = 0; i < extent; i += kStrip) {
      index_[vector_axis_] = i;
      f(static_cast<int>(std::min<int64_t>(kStrip, extent - i)));
    }
    index_[vector_axis_] = 0;
  }

  /// Moves to the next index of the axes that are neither the innermost nor (except in a scatter) the
  /// sequential one; false after the last.
  bool advance() {
    for (int i = vector_axis_ - 1; i >= 0; --i) {
      if (i == k_.sequential && k_.form != Form::scatter) continue;
      if (++index_[i] < extent_[i]) return true;
      index_[i] = 0;
    }
    return false;
  }

  void reduce_inner() {
    for (auto& a : accumulators_) a->start(1);
    strips(extent_[vector_axis_], [&](int n) {
      evaluate(0, k_.epilogue, n);
      accumulate(index_[vector_axis_], n);
      for (const Store& t : k_.stores)
        if (t.value < k_.epilogue) store(t, n);
    });
    epilogue(1);
  }

  void reduce_outer(int n) {
    for (auto& a : accumulators_) a->start(n);
    for (int64_t& r = index_[k_.sequential]; r < extent_[k_.sequential]; ++r) {
      evaluate(0, k_.epilogue, n);
      accumulate(r, n);
    }
    index_[k_.sequential] = 0;
    epilogue(n);
  }

  void accumulate(int64_t r, int n) {
    if (k_.form == Form::contract) {
      const Contraction& c = k_.contraction;
      return accumulators_[0]->take(value(c.left.value), value(c.right.value), r, n);
    }
    for (size_t i = 0; i < accumulators_.size(); ++i)
      accumulators_[i]->take(value(k_.reductions[i].value), nullptr, r, n);
  }

  void epilogue(int n) {
    for (size_t i = 0; i < accumulators_.size(); ++i) accumulators_[i]->finish(running_[i].bytes);
    evaluate(k_.epilogue, k_.body.size(), n);
    store(k_.epilogue, n);
  }

  void scan(int n) {
    for (int64_t& r = index_[k_.sequential]; r < extent_[k_.sequential]; ++r) {
      evaluate(0, k_.body.size(), n);
      store(0, n);
    }
    index_[k_.sequential] = 0;
  }

  const char* value(ValueId v) const { return v == kNoValue ? nullptr : values_[v].bytes; }

  void evaluate(size_t first, size_t last, int n) {
    auto next = k_.rolled_loops.begin();  // only maps have some, and evaluate all of their body
    for (size_t i = first; i < last;) {
      if (next != k_.rolled_loops.end() && i == next->first) {
        rolled_loop(*next, n);
        i = next++->last;
      } else {
        evaluate_one(i++, n, 0);
      }
    }
  }

  void rolled_loop(const RolledLoop& r, int n) {
    size_t body = r.first;
    while (body < r.last && k_.body[body].code == Code::carried) ++body;
    const auto trips = static_cast<int64_t>(args_[layout_.scalar(r.trips)]);
    std::vector<Strip> carried(body - r.first);  // one may be carried into another: all are copied at once
    for (int64_t t = 0; t < trips; ++t) {
      for (size_t i = r.first; i < body; ++i)
        carried[i - r.first] = values_[t == 0 ? k_.body[i].a : k_.body[i].b];
      std::copy(carried.begin(), carried.end(), values_.begin() + r.first);
      for (size_t i = body; i < r.last; ++i) evaluate_one(i, n, t * r.scalar_step);
    }
  }

  /// Evaluates one instruction. `ahead`: how many arguments after its own a scalar is read from.
  void evaluate_one(size_t i, int n, int64_t ahead) {
    const Instr& s = k_.body[i];
    char* out = values_[i].bytes;
    switch (s.code) {
      case Code::load:
        with_size(size_of(s.type),
                  [&](auto t) { gather<decltype(t)>(address(s.imm), stride(s.imm, vector_axis_), out, n); });
        break;
      case Code::scalar:
        with_size(size_of(s.type), [&](auto t) {
          gather<decltype(t)>(reinterpret_cast<const char*>(args_ + layout_.scalar(s.imm) + ahead), 0, out,
                              n);
        });
        break;
      case Code::iota:
        for (int64_t lane = 0; lane < n; ++lane) {
          const int64_t at = origin(s.imm) + index_[s.imm] + (s.imm == vector_axis_ ? lane : 0);
          std::memcpy(out + lane * 8, &at, 8);
        }
        break;
      case Code::load_at: load_at(s, out, n); break;
      case Code::check:
        for (int lane = 0; lane < n; ++lane)
          if (value(s.a)[lane]) *reinterpret_cast<int32_t*>(args_[layout_.scalar(s.imm)]) = 1;
        std::memcpy(out, value(s.a), static_cast<size_t>(n));
        break;
      case Code::op: meanings_[i](value(s.a), value(s.b), value(s.c), out, n); break;
      case Code::result: std::memcpy(out, running_[s.imm].bytes, size_of(s.type) * n); break;
      case Code::carried: break;  // see rolled_loop()
    }
    if (k_.form == Form::scan) add_to_running(i, n);
  }

  /// Adds to a scan's running results, which include the value at this index as soon as it is computed.
  void add_to_running(size_t i, int n) {
    for (size_t j = 0; j < k_.reductions.size(); ++j) {
      const Reduction& r = k_.reductions[j];
      if (r.value != i) continue;
      if (index_[k_.sequential] == 0) std::memcpy(running_[j].bytes, values_[i].bytes, size_of(r.type) * n);
      else
        meaning(combination(r.op), r.type, r.type)(running_[j].bytes, values_[i].bytes, nullptr,
                                                   running_[j].bytes, n);
    }
  }

  /// Stores what instructions from `first` on have computed.
  void store(ValueId first, int n) {
    for (const Store& t : k_.stores)
      if (t.value >= first) store(t, n);
  }
  void store(const Store& t, int n) {
    with_size(size_of(k_.operands[t.operand].dtype), [&](auto e) {
      scatter<decltype(e)>(value(t.value), address(t.operand), stride(t.operand, vector_axis_), n);
    });
  }

  int64_t lane_of(ValueId v, int lane) const {
    int64_t i;
    std::memcpy(&i, value(v) + lane * 8, 8);
    return i;
  }

  void load_at(const Instr& s, char* out, int n) const {
    const auto size = static_cast<int64_t>(size_of(s.type));
    const char* from = address(s.imm);
    for (int lane = 0; lane < n; ++lane, from += stride(s.imm, vector_axis_))
      std::memcpy(out + lane * size, from + lane_of(s.a, lane) * size, static_cast<size_t>(size));
  }

  /// Stores lane by lane: several may have the same element.
  void store_at(const Store& t, int n) {
    const DType type = k_.operands[t.operand].dtype, wide = compute_type(type);
    const auto size = static_cast<int64_t>(size_of(type));
    char* to = address(t.operand);
    for (int lane = 0; lane < n; ++lane, to += stride(t.operand, vector_axis_)) {
      const int64_t at = lane_of(t.at, lane);
      if (at < 0) continue;
      char *const there = to + at * size, *const put = values_[t.value].bytes + lane * size;
      if (t.combine == jit::Op::cast) {
        std::memcpy(there, put, static_cast<size_t>(size));
        continue;
      }
      alignas(8) char old[8], update[8];
      meaning(jit::Op::cast, type, wide)(there, nullptr, nullptr, old, 1);
      meaning(jit::Op::cast, type, wide)(put, nullptr, nullptr, update, 1);
      meaning(t.combine, wide, wide)(old, update, nullptr, old, 1);
      meaning(jit::Op::cast, wide, type)(old, nullptr, nullptr, there, 1);
    }
  }

  int64_t stride(int operand, int axis) const {
    return layout_.stride_bytes(args_, k_.operands, operand, axis);
  }

  char* address(int operand) const {
    int64_t offset = 0;
    for (int i = 0; i < k_.rank; ++i) offset += index_[i] * stride(operand, i);
    return reinterpret_cast<char*>(args_[layout_.pointer(operand)]) + offset;
  }

  const LoopKernel& k_;
  const std::vector<StripFn>& meanings_;
  const uint64_t* args_;
  const ArgLayout layout_;
  const int vector_axis_;
  int64_t extent_[kMaxAxes] = {};
  int64_t index_[kMaxAxes] = {};
  std::vector<Strip> values_;   // by instruction
  std::vector<Strip> running_;  // by reduction: a scan's results so far, a reduce's results
  std::vector<std::unique_ptr<Accumulator>> accumulators_;
};

namespace {

/// Sets the default floating-point environment for a scope, like FloatMode, and that of the x87 unit, which
/// computes long double.
class WideFloatMode {
 public:
  WideFloatMode() noexcept {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  WideFloatMode(const WideFloatMode&) = delete;
  ~WideFloatMode() { std::fesetenv(&before_); }

 private:
  std::fenv_t before_;
};

}  // namespace

void LoopsKernel::launch(uint64_t* args) const {
  const WideFloatMode mode;
  Run(*this, args).all();
}

}  // namespace lazy::reference
