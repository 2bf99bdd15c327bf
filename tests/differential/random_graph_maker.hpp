// Makes random programs: statements are proposed at random and kept if both runs can record them.
#pragma once
#include "tests/differential/random_graph.hpp"

namespace random_graph {

constexpr int64_t kMaxElements = 2000, kMaxProducts = 20000;

class Maker {
 public:
  Maker(uint64_t seed, bool exact_only);
  /// Returns a program of about `size` statements, those of loops not counted.
  Program make(int size);

 private:
  int pick(int n) { return static_cast<int>(r_() % static_cast<uint64_t>(n)); }
  bool chance(int n) { return pick(n) == 0; }
  int64_t some_extent();
  DType any_type();
  DType type() { return types_[static_cast<size_t>(pick(static_cast<int>(types_.size())))]; }
  std::vector<Dim> random_dims(int max_rank);

  int count() const { return static_cast<int>(p_.statements.size()); }
  /// Returns a register, the later ones more often.
  int any_register();
  const std::vector<Dim>& dims(int reg) const { return p_.statements[static_cast<size_t>(reg)].dims; }
  DType dtype(int reg) const { return first_.registers()[static_cast<size_t>(reg)].dtype(); }
  int64_t elements(int reg) const {
    return lazy::numel(first_.registers()[static_cast<size_t>(reg)].shape());
  }

  /// Adds a statement; false, with nothing changed, if one of the runs can't record it.
  bool add(Statement s);
  bool input(std::vector<Dim> dims, int type_number = -1, bool may_be_strided = true);
  static bool broadcast(const std::vector<Dim>& a, const std::vector<Dim>& b, std::vector<Dim>& out);
  /// Returns a register that broadcasts with these dimensions; makes one if needed.
  int partner(const std::vector<Dim>& with, int type_number = -1);
  int indices(const std::vector<Dim>& d);
  Range random_range();
  /// Chooses random ranges over some axes, and the remaining dimensions.
  void ranges(Statement& s, const std::vector<Dim>& d, bool whole_ok);
  Dim new_symbol(Symbol s);

  void propose();
  // These fill in a statement that has register a as its operand and its dimensions, or make statements of
  // their own. False if there is nothing to add.
  bool new_input(Statement&, int);
  bool source(Statement&, int);
  bool triangle(Statement&, int);
  bool select(Statement&, int);
  bool cast(Statement&, int);
  bool reshape(Statement&, int);
  bool permute(Statement&, int);
  bool slice(Statement&, int);
  bool flip(Statement&, int);
  bool expand(Statement&, int);
  bool squeeze(Statement&, int);
  bool broadcast_to(Statement&, int);
  bool reduce(Statement&, int);
  bool scan(Statement&, int);
  bool matmul(Statement&, int);
  bool assign(Statement&, int);
  bool read_or_assign(Statement&, int);
  bool window(Statement&, int);
  bool make_convolution(Statement&, int);
  bool make_attention(Statement&, int);
  bool make_read_twice(Statement&, int);
  bool make_loop(Statement&, int);
  bool sort(Statement&, int);
  bool join(Statement&, int);
  bool take(Statement&, int);
  bool put(Statement&, int);
  bool pointwise(Statement&, int);

  // Statements that come in groups.
  void convolution(int x);
  void attention(int x);
  int view_of(int x);
  void read_twice(int x);
  void loop(int x);

  void drop_handles();

  Random r_;
  Program p_;
  Machine first_, second_;
  int free_ = 0;
  std::vector<DType> types_;
  std::vector<std::pair<int, int>> loops_;  // first and end of their statements
};

}  // namespace random_graph
