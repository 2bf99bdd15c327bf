// Represents random programs over the public API as data: they can be run under several settings, with other
// extents, shortened when they fail, and printed as C++.
//
// A program is a list of statements, each of which makes one register. Extents are products of symbols, so
// that the same program can be run again with other sizes: its key must then be the same.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "lazy/lazy.hpp"

namespace random_graph {

using lazy::DType;
using lazy::Tensor;
using Random = std::mt19937_64;

/// An extent: a product of symbols; none at all is the literal 1.
using Dim = std::vector<int>;

struct Range {
  bool has_start = false, has_stop = false;
  int64_t start = 0, stop = 0, step = 1;
  bool integer = false;  // x(start): the axis is dropped
};

/// Holds a symbol, which is free, or the length of a slice of another extent.
struct Symbol {
  int64_t first = 2, second = 3;  // values in the two runs
  bool derived = false;
  Dim of;
  Range range;
};

enum class Kind : uint8_t {
  input,
  arange,
  full,
  eye,
  triangle,
  unary,
  binary,
  with_scalar,
  where,
  cast,
  reshape,
  permute,
  slice,
  flip,
  window,  // along axes[0], of axes[1] elements that lie axes[2] apart; their first ones are ranges[0]
  expand,
  squeeze,
  broadcast,
  reduce,
  scan,
  matmul,
  convolve,   // axes: stride, padding, dilation of each spatial axis; flipped: channels last; keepdims:
              // depthwise
  attention,  // flipped: causal
  sort,       // along axes[0]; keepdims: descending; flipped: the indices
  join,       // r0, r1, r0 of one shape along axes[0]: stacked, of which the largest; flipped: one after the
              // other, of which the first two thirds' larger ones
  take,       // register a at b along axes[0], by rule axes[1]; keepdims: take_along_axis
  put,        // c into a at b along axes[0], by rule axes[1], combined by axes[2]
  assign,
  assign_mask,
  read,  // reads register a here; the new register is another handle on it
};

struct Statement {
  Kind kind{};
  int fn = 0;                     // row in the kind's table of functions
  int operand[3] = {-1, -1, -1};  // registers
  DType dtype{};
  std::vector<Dim> dims;  // dimensions of the result, once made
  std::vector<int> axes;
  bool keepdims = false, flipped = false;
  std::vector<Range> ranges;
  std::vector<Dim> region;     // assign: dimensions that the ranges select
  int scalar_kind = 0;         // bool, int, float, double
  uint64_t salt = 0;           // seed of the input's data, the scalar's value, the memory's layout
  int layout = 0;              // input: 0 copied, else strides of the user's memory
  std::vector<int64_t> shape;  // shape of the result in the first run, for the text
};

constexpr int kToTheEnd = std::numeric_limits<int>::max();

struct Program {
  std::vector<Symbol> symbols;
  std::vector<Statement> statements;
  std::vector<int> dropped_after;  // by register: the statement after which its handle is dropped
  bool specials = false;           // data with NaN, infinities, -0, extremes
  int isa = 0;                     // number of the instruction set that runs it (isas.hpp)
  bool exact_only = false;         // only ops that every instruction set rounds the same
};

/// Chooses sizes, data and scalars of a run.
struct Inputs {
  bool second_sizes = false;
  uint64_t salt = 0;
  /// Has the inputs, in order, which the first run makes and marks as unchanging. Null: each run makes its
  /// own.
  std::vector<lazy::Tensor>* marked = nullptr;
};

struct Output {
  int reg = 0;
  DType dtype{};
  lazy::Shape shape;
  std::vector<unsigned char> bytes;
};

/// Executes statements one by one.
class Machine {
 public:
  Machine(const Program&, Inputs);
  void step(const Statement&);
  /// Forgets the registers from `count` on.
  void undo(size_t count) { registers_.resize(std::min(count, registers_.size())); }
  /// Runs all statements, dropping handles where the program does; then the remaining ones are evaluated and
  /// read. `looked_at` chooses the registers that are read; others are dropped unread.
  std::vector<Output> run(const std::function<bool(int)>& looked_at = {});
  const std::vector<Tensor>& registers() const { return registers_; }
  int64_t extent(const Dim&) const;
  /// False if a blob's bytes have changed.
  bool blobs_untouched() const;
  /// Returns what decides the key, as far as sizes do: extents that are 1 or 0, views that change nothing.
  const std::vector<int64_t>& signature() const { return signature_; }
  bool has_blobs() const { return !blobs_.empty(); }

 private:
  struct Blob {
    std::shared_ptr<std::vector<unsigned char>> bytes;
    std::vector<unsigned char> before;
  };
  Tensor input(const Statement&);
  Tensor new_input(const Statement&);
  Tensor make(const Statement&);
  Tensor sliced(const Statement&, Tensor&, const Tensor* value);
  void read(int reg);
  void sign(const Statement&);

  const Program& program_;
  const Inputs inputs_;
  std::vector<Tensor> registers_;
  std::vector<Blob> blobs_;
  std::vector<Output> outputs_;
  size_t next_input_ = 0;
  std::vector<int64_t> signature_;
};

/// Returns a program of about `size` statements that runs without an error with both sizes.
Program generate(uint64_t seed, int size, bool exact_only = false);
/// Returns shorter or simpler programs that are valid too.
std::vector<Program> simpler(const Program&);
/// Returns the program as C++ text.
std::string to_string(const Program&);
inline std::ostream& operator<<(std::ostream& out, const Program& p) { return out << to_string(p); }

/// Returns "" if equal to the bit (any NaN equals any NaN), else the difference.
std::string difference(const std::vector<Output>& a, const std::vector<Output>& b);

// Tables of functions.
enum Takes : uint8_t { any_dtype, numbers, integers };
struct UnaryRow {
  const char* name;
  Tensor (*f)(lazy::Arg);
  bool exact;
};
struct BinaryRow {
  const char* name;
  Tensor (*f)(lazy::Arg, lazy::Arg);
  bool exact;
};
struct ReduceRow {
  const char* name;
  Tensor (*f)(const Tensor&, lazy::Axes, lazy::KeepDims);
  bool exact;
  bool one_axis;
};
struct ScanRow {
  const char* name;
  Tensor (*f)(const Tensor&, lazy::Axes);
};
extern const std::vector<UnaryRow> kUnary;
extern const std::vector<BinaryRow> kBinary;
extern const std::vector<ReduceRow> kReduce;
extern const std::vector<ScanRow> kScan;

}  // namespace random_graph
