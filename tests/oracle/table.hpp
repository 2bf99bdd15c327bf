// Declares the table of public ops: a name, a call with arguments of text, and arguments to try it with.
//
// A case is a line of fields that tabs separate: a row's name, then arguments. Each begins with a letter:
//
//   T float32 2,3 0000803f...         a tensor: dtype, shape ("-": 0-d), its bytes in row-major order, then
//   views of it in order:
//                                     /flip:AXIS  /permute:1,0  /broadcast:2,3  /slice:AXIS:START:STOP:STEP
//   B float32 2,3 3,1 0 0000803f...   a tensor in memory with strides and the position of its first element,
//   in elements X 2                               a list of as many tensors, which follow I -3   F 0x1.8p1 O
//   1            an integer, a float, a bool L 1,2  R 0x1p0,nan                lists ("-": empty) S text   D
//   int32   N              text, a dtype, an argument that is left out
//
// Samples of rows have, in place of tensors with bytes, `x SHAPE` (small numbers of the dtype that is tried),
// `f SHAPE` (float32), `i SHAPE` (int64: 0 and 1), `b SHAPE` (bool) and `p N` (a positive definite matrix of
// the dtype that is tried). `V I` is tensor I of a list that is
// given beside the text; views may follow.
#pragma once
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lazy/lazy.hpp"

namespace oracle {

using namespace lazy;

/// Thrown for a line that is no case.
struct BadCase : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Returns the parts of a text between separators; none of an empty text.
std::vector<std::string_view> split_text(std::string_view, char separator);

/// Holds the arguments of one case. Each function takes the next one; a default stands for those that are
/// left out.
class Given {
 public:
  Given(std::span<const std::string_view> fields, DType tried, std::span<const Tensor> variables = {})
      : fields_(fields), tried_(tried), variables_(variables) {}

  /// True if there is another argument and it is not left out.
  bool more() const { return at_ < fields_.size() && fields_[at_] != "N"; }
  /// Returns the first letter of the next argument; N if it is left out.
  char kind() const { return more() ? fields_[at_][0] : 'N'; }
  Arg arg();
  /// Returns a tensor, which is default-constructed if it is left out.
  Tensor tensor();
  std::vector<Tensor> tensors();
  int64_t integer(int64_t otherwise = 0);
  double real(double otherwise = 0);
  bool flag(bool otherwise = false);
  std::string text(const std::string& otherwise = "");
  std::vector<int64_t> ints();
  std::vector<double> reals();
  MaybeDType dtype();
  ScalarNumber number(ScalarNumber otherwise = 0);
  KeepDims keep() { return flag() ? keepdims : dropdims; }
  Axes axes(const Axes& otherwise = {});
  ShapeArg shape();
  Bounds bounds();
  Combine combine();
  /// Throws BadCase if an argument is left.
  void end() const;

 private:
  std::string_view next();
  /// Returns a tensor: x of small numbers of the dtype that is tried, u of 0 and 1 of it, p a positive
  /// definite matrix of it; f of float32, i of int64, b of bool.
  Tensor sample(char kind, std::string_view shape) const;

  std::span<const std::string_view> fields_;
  size_t at_ = 0;
  DType tried_;  // dtype of samples
  std::span<const Tensor> variables_;
};

/// Holds what a function returned.
struct Results : std::vector<Tensor> {
  Results(Tensor t) { push_back(std::move(t)); }
  Results(std::vector<Tensor> v) : std::vector<Tensor>(std::move(v)) {}
  Results(std::initializer_list<Tensor> v) : std::vector<Tensor>(v) {}
};

/// Describes one way to call a public function: `name` is the function's, perhaps with "/" and what tells the
/// way from others.
struct Row {
  const char* name;
  const char* sample;
  Results (*run)(Given&);
};
/// Returns the function's name.
std::string_view function_of(const Row&);

// The rows, by the folders of the headers that declare the functions.
std::span<const Row> elementwise_rows();
std::span<const Row> creation_rows();
std::span<const Row> reduction_rows();
std::span<const Row> arranging_rows();
std::span<const Row> indexing_rows();
std::span<const Row> product_rows();
std::span<const Row> linalg_rows();
std::span<const Row> complex_rows();
std::span<const Row> number_rows();
std::span<const Row> random_rows();
std::span<const Row> activation_rows();
std::span<const Row> loss_rows();
std::span<const Row> image_rows();

/// Returns all rows, sorted by name.
const std::vector<const Row*>& table();
/// Returns the row; null if there is none.
const Row* find(std::string_view name);
/// Returns the public functions that have no row, with the reason.
const std::map<std::string, std::string>& excluded();

/// Returns the public functions that the headers of `root`/lazy/lazy.hpp declare: name and header.
std::map<std::string, std::string> public_functions(const std::string& root);

/// Returns the dtype; BadCase if there is none of the name.
DType dtype_named(std::string_view);
/// Calls the row with arguments; all of them must be taken.
Results call(const Row&, std::span<const std::string_view> arguments, DType tried = float32,
             std::span<const Tensor> variables = {});

/// Runs a graph (graphs.cpp), of whose line these are the fields but the first; returns its last value and
/// the gradients by its leaves.
std::vector<Tensor> run_graph(std::span<const std::string_view> fields);

/// Returns a tensor as text: dtype, shape, bytes.
std::string text_of(const Tensor&);
/// Returns the text of a case's result: "ok" and tensors, or "error", its class and what it says, tabs
/// between.
std::string result_of(std::string_view line);

/// Compares cases with what is expected; prints those that differ. Returns how many.
int check(const std::string& file);
/// Compares gradients of the samples of the rows of these names, or of all, with differences; prints those
/// that differ. Returns how many.
int check_gradients_of_samples(std::span<const std::string_view> names);
/// Does so for the cases of a file, whatever it expects.
int check_gradients_of_cases(const std::string& file);
/// Prints docs/ops.md. `folder` has the names of other libraries.
void print_page(const std::string& folder);
/// Prints the public functions that are neither in the table nor excluded, and other faults of the tables.
/// Returns how many.
int print_faults(const std::string& root);

}  // namespace oracle
