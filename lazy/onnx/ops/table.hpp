// Lists the operators that can be imported, those of a family in a file. A row has an operator's name, the
// versions of the opset that it is for, its attributes, and the function that records it.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "lazy/onnx/ops/call.hpp"

namespace lazy::onnx {

inline constexpr int64_t kOldestOpset = 1, kNewestOpset = 21;

struct Operator {
  const char* name;
  int64_t since, until;    // versions of the opset of the default domain
  const char* attributes;  // the names of those that it reads, separated by spaces
  void (*record)(Call&);
  /// Computes outputs whose elements are known from inputs that are; null if there is no such function.
  /// Returns false where that can't be, then `record` does it.
  bool (*known)(Call&) = nullptr;
  /// Returns why a node is not supported; an empty text if it is.
  std::string (*check)(const NodeProto&) = nullptr;
};

std::span<const Operator> elementwise_operators();
std::span<const Operator> activation_operators();
std::span<const Operator> reduction_operators();
std::span<const Operator> shape_operators();
std::span<const Operator> indexing_operators();
std::span<const Operator> creation_operators();
std::span<const Operator> window_operators();
std::span<const Operator> normalisation_operators();
std::span<const Operator> contraction_operators();
std::span<const Operator> resize_operators();
std::span<const Operator> recurrent_operators();
std::span<const Operator> quantised_operators();
std::span<const Operator> signal_operators();
std::span<const Operator> detection_operators();
std::span<const Operator> loss_operators();
std::span<const Operator> control_operators();

/// True if one of the words, separated by spaces, is this one.
bool has_word(std::string_view words, std::string_view word);
/// Returns all families.
std::span<const std::span<const Operator>> all_operators();
/// Returns the operator of that name for a version of the opset; null if there is none.
const Operator* find_operator(std::string_view name, int64_t version);
/// Returns true if there is one of that name in any version.
bool has_operator(std::string_view name);

}  // namespace lazy::onnx
