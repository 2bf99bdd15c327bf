// Finds out, while a replay's function is recorded, which variables it reads and what outlives it. Internal
// to lazy/inference/.
#pragma once
#include <cstdint>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "jit/flush/recording.hpp"
#include "lazy/core/record.hpp"
#include "lazy/inference/replay.hpp"

namespace lazy::detail {

/// Refers to a variable that the function reads.
struct ReplayVariable {
  const Handle* at = nullptr;  // null: the parameter, wherever it is
  ParameterRef parameter;
  /// Returns its handle; null if the parameter is there no more.
  const Handle* handle() const {
    if (at) return at;
    const Parameter* const p = parameter.get();
    return p ? &p->handle() : nullptr;
  }
};

/// Says that a variable was read through a copy while others had its value, too.
struct DoubtfulRead {
  ReplayVariable variable;
  Handle value;
  uint32_t handles;  // that the value has at least
};

/// Observes what is recorded. A value that was recorded meanwhile is the function's own; any other is an
/// argument, a constant that the function made, or was read from a variable, which must be known.
class ReplayReads final : public Observer {
 public:
  ReplayReads(const Replayer::Names&, std::span<const Handle> arguments);
  ReplayReads(const ReplayReads&) = delete;
  ~ReplayReads() { let_go(); }

  std::vector<Handle> bases;     // arguments, then what the variables have
  jit::Recording::Inputs views;  // those, and values that are views of them
  std::vector<ReplayVariable> variables;
  std::vector<std::pair<uint32_t, uint32_t>> same;       // bases that are one value, of two variables
  std::vector<std::pair<ReplayVariable, Handle>> fixed;  // variables that are constants: part of the graph
  std::vector<Handle> pending;                           // values of variables that have to be computed first

  void recorded(const Recorded&) override;
  void recorded_call(const RecordedCall&) override;
  void transferred(const Handle& from, const Handle& to, const Site&) override;

  /// Throws Error, at its line, for a value that was recorded and is held by something else than the
  /// function's results. Then lets go of all that was recorded.
  void check_outlived(std::span<const Handle> outputs);
  /// Returns the variables of which it is not sure that they were meant, for others have their values too:
  /// what was read of those is right as long as nobody changes any of them.
  std::vector<DoubtfulRead> doubtful() const;
  /// Lets go of all that was recorded.
  void let_go() noexcept;

 private:
  void note(const Handle&);
  void read(const Handle&, const Site&);
  bool is_made(const jit::Node*, const Site&) const;
  bool is_fixed(const jit::Node*) const;
  bool find(const Handle&, ReplayVariable&) const;
  std::vector<ReplayVariable> holders(const jit::Node*) const;
  void add_members(nn::Module&);

  const Replayer::Names& names_;
  size_t first_ = 0;  // bases before it are arguments
  std::vector<const Handle*> named_;
  std::unordered_set<const jit::Node*> known_;  // recorded meanwhile
  std::vector<jit::Node*> noted_;               // likewise, in order; of each a reference
  std::vector<std::pair<ReplayVariable, const jit::Node*>> read_elsewhere_;  // through a copy of the variable
};

}  // namespace lazy::detail
