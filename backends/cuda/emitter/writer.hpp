// Declares what the writers of all layouts share: the kernel, the module's text under way, arguments and
// addresses. Each family of layouts has a class that derives from Writer.
#pragma once
#include <string>

#include "backends/cuda/emitter/module.hpp"
#include "backends/cuda/emitter/prelude.hpp"
#include "backends/cuda/emitter/reductions.hpp"
#include "backends/cuda/emitter/text.hpp"
#include "backends/cuda/emitter/tiles.hpp"
#include "backends/cuda/emitter/values.hpp"

namespace lazy::cuda_backend {

/// Returns what a module begins with: names of the types, those of the 16-bit floats if they are used.
std::string module_head(bool uses_float16, bool uses_bfloat16);

/// Holds a module's text under way: functions that it calls, and what is written of its own.
struct ModuleText {
  Prelude prelude;
  Text text;
};

/// Describes one of several kernels in a module (rows_module.cpp): its types and functions end in `suffix`.
/// Operand o is value number inner[o] of the row, unless that is negative; whole[v]: true if value v has an
/// element for each index.
struct Member {
  std::string suffix;
  const std::vector<int16_t>* inner = nullptr;  // null: the module has one kernel
  const std::vector<bool>* whole = nullptr;
};

class Writer {
 public:
  Writer(const jit::loop::LoopKernel& k, const Schedule& s, Prelude& prelude, Text& text, Member m = {})
      : k_(k),
        schedule_(s),
        prelude_(prelude),
        text_(text),
        values_(k, prelude),
        reductions_(k, prelude),
        member_(std::move(m)) {
    load_where_it_stands();
  }
  Writer(const jit::loop::LoopKernel& k, const Schedule& s, ModuleText& m)
      : Writer(k, s, m.prelude, m.text) {}

  std::string arguments() const;
  /// Writes `Index index_of(args, at)`: the indices of the parallel axes of the at-th of their box, last axis
  /// fastest. With `vector` > 1 one step of the last axis is that many elements; the function is then called
  /// wide_index_of. `held`: an axis that is not counted, but set by the caller.
  void write_index(int vector, int held = -1);

  /// Holds the address of an operand's element: base, and how many elements on. `i` is an Index, `r` the
  /// index along the sequential axis.
  struct Address {
    std::string base, element;
    std::string pointer() const { return element.empty() ? base : base + " + " + element; }
    std::string access() const { return element.empty() ? "*" + base : base + "[" + element + "]"; }
  };
  Address address(int operand);
  /// Returns the bytes from one index of an axis to the next, as an expression; `args`: where its word is.
  std::string stride_text(int operand, int axis, const std::string& args = "args") const;
  /// Returns the index along an axis, as an expression, in an evaluation at `i` and `r`.
  std::string index(int axis) const;
  Values& values() { return values_; }

 protected:
  /// Begins function `which`: writes its head, and `args`. `blocks` of it, if given, are to fit a
  /// multiprocessor.
  void open_function(int which, int threads, int blocks = 0);
  /// Returns the product of the parallel extents.
  std::string result_count() const;

  bool moves(int operand, int axis) const {
    return k_.operands[static_cast<size_t>(operand)].stride[axis] != jit::loop::Stride::zero;
  }
  std::string operand_name(int operand) const;
  std::string element_type(int operand) const;
  size_t body_end() const { return k_.has_epilogue() ? k_.epilogue : k_.body.size(); }
  /// Returns the operands that body[first, last) loads, in order, once each.
  std::vector<int> loaded(size_t first, size_t last) const;

  /// Writes `const float x1 = ...;` for those of the body's loads that stay in place along the sequential
  /// axis.
  void load_fixed();
  /// Writes the body at the steps first, first + stride, ... below `end` that are under way at once: all
  /// their loads, then for one after the other what is computed and stored. `add` feeds the reductions of a
  /// step.
  void write_steps(const std::string& stride, const std::function<void()>& add);
  /// Begins function 0, in which a thread has one index of the parallel axes and goes along the sequential
  /// one, step after step; `add` as above.
  void open_sequence(const std::function<void()>& add);
  /// Adds a step's values to accumulators of these names.
  void add(const std::function<std::string(size_t j)>& accumulator);

  /// Writes the epilogue at `i`, on what is in these accumulators, and its stores.
  void write_epilogue(const std::function<std::string(size_t j)>& accumulator);
  /// Stores what instructions [first, last) have computed.
  void store(size_t first, size_t last);

  const jit::loop::LoopKernel& k_;
  const Schedule& schedule_;
  Prelude& prelude_;
  Text& text_;
  Values values_;
  Reductions reductions_;
  const Member member_;

 private:
  void load_where_it_stands();
  struct Steps {
    std::string stride;
    int count;
    bool all_there;  // all lie below `end`
  };
  void write_copies(const Steps&, const std::function<void()>& add);
  void open_steps(const Steps&);
  void close_steps();
  /// Returns the subscript of what the u-th of the steps has to itself.
  std::string step() const { return schedule_.unroll > 1 ? "[u]" : ""; }
};

}  // namespace lazy::cuda_backend
