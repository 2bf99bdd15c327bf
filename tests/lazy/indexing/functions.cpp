// Compares functions that select, write and find elements with what NumPy and torch give in
// tests/golden/indexing_functions.txt (its format: tests/golden/make_indexing.py).
#include <fstream>
#include <functional>
#include <map>

#include "tests/common/check.hpp"
#include "tests/lazy/indexing/golden_values.hpp"

using namespace lazy;
using namespace golden_values;
using check::equal;

namespace {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensors(const Tensors&)>;

void add_reductions(std::map<std::string, Function>& table) {
  for (const char* how : {"sum", "prod", "mean", "amax", "amin"})
    for (const bool self : {false, true})
      table[std::string("scatter_reduce_") + how + (self ? "_1" : "_0")] = [how, self](const Tensors& x) {
        return Tensors{scatter_reduce(x[0], 0, x[1], x[2], how, self)};
      };
}

void add_diagonals(std::map<std::string, Function>& table) {
  for (const int offset : {0, 1, 2, -1, -2}) {
    const std::string name = "diagonal_scatter_" + std::to_string(offset);
    table[name] = [offset](const Tensors& x) { return Tensors{diagonal_scatter(x[0], x[1], offset)}; };
    table[name + "_axes_2_0"] = [offset](const Tensors& x) {
      return Tensors{diagonal_scatter(x[0], x[1], offset, 2, 0)};
    };
  }
}

/// Holds functions by the names that the file has for them, with their other arguments.
const std::map<std::string, Function>& functions() {
  using X = const Tensors&;
  static std::map<std::string, Function> table = {
      {"take", [](X x) { return Tensors{take(x[0], x[1])}; }},
      {"put", [](X x) { return Tensors{put(x[0], x[1], x[2])}; }},
      {"put_accumulate", [](X x) { return Tensors{put(x[0], x[1], x[2], true)}; }},
      {"index_put",
       [](X x) {
         return Tensors{index_put(x[0], {x[1], x[2]}, x[3])};
       }},
      {"index_put_axis1",
       [](X x) {
         return Tensors{index_put(x[0], {_, x[1]}, x[2])};
       }},
      {"index_put_accumulate",
       [](X x) {
         return Tensors{index_put(x[0], {x[1], x[2]}, x[3], true)};
       }},
      {"index_add_axis1", [](X x) { return Tensors{index_add(x[0], 1, x[1], x[2])}; }},
      {"index_copy_axis1", [](X x) { return Tensors{index_copy(x[0], 1, x[1], x[2])}; }},
      {"index_fill_axis0", [](X x) { return Tensors{index_fill(x[0], 0, x[1], true)}; }},
      {"select_1_2", [](X x) { return Tensors{lazy::select(x[0], 1, 2)}; }},
      {"select_scatter_1_2", [](X x) { return Tensors{select_scatter(x[0], x[1], 1, 2)}; }},
      {"slice_scatter_1_1_4_2", [](X x) { return Tensors{slice_scatter(x[0], x[1], 1, 1, 4, 2)}; }},
      {"slice_scatter", [](X x) { return Tensors{slice_scatter(x[0], x[1])}; }},
      {"masked_scatter", [](X x) { return Tensors{masked_scatter(x[0], x[1], x[2])}; }},
      {"choose", [](X x) { return Tensors{choose(x[0], Tensors(x.begin() + 1, x.end()))}; }},
      {"compress", [](X x) { return Tensors{compress(x[0], x[1])}; }},
      {"compress_axis0", [](X x) { return Tensors{compress(x[0], x[1], 0)}; }},
      {"compress_axis1", [](X x) { return Tensors{compress(x[0], x[1], 1)}; }},
      {"extract", [](X x) { return Tensors{extract(x[0], x[1])}; }},
      {"ravel_multi_index_4_5",
       [](X x) {
         return Tensors{ravel_multi_index(x, {4, 5})};
       }},
      {"ravel_multi_index_4_5_wrap",
       [](X x) {
         return Tensors{ravel_multi_index(x, {4, 5}, Bounds::wrap)};
       }},
      {"ravel_multi_index_4_5_clip",
       [](X x) {
         return Tensors{ravel_multi_index(x, {4, 5}, Bounds::clip)};
       }},
      {"unravel_index_4_5_2",
       [](X x) {
         return unravel_index(x[0], {4, 5, 2});
       }},
      {"ix_",
       [](X x) {
         return Tensors{x[0](ix_({x[1], x[2]}))};
       }},
      {"set_ix_",
       [](X x) {
         Tensor y = x[0];
         y(ix_({x[1], x[2]})) = 7;
         return Tensors{y};
       }},
      {"unique", [](X x) { return Tensors{unique(x[0])}; }},
      {"unique_values", [](X x) { return Tensors{unique_values(x[0])}; }},
      {"unique_counts",
       [](X x) {
         const UniqueCounts u = unique_counts(x[0]);
         return Tensors{u.values, u.counts};
       }},
      {"unique_inverse",
       [](X x) {
         const UniqueInverse u = unique_inverse(x[0]);
         return Tensors{u.values, u.inverse};
       }},
      {"unique_all",
       [](X x) {
         const UniqueAll u = unique_all(x[0]);
         return Tensors{u.values, u.indices, u.inverse, u.counts};
       }},
      {"isin", [](X x) { return Tensors{isin(x[0], x[1])}; }},
      {"isin_invert", [](X x) { return Tensors{isin(x[0], x[1], true)}; }},
      {"setdiff1d", [](X x) { return Tensors{setdiff1d(x[0], x[1])}; }},
      {"intersect1d", [](X x) { return Tensors{intersect1d(x[0], x[1])}; }},
      {"union1d", [](X x) { return Tensors{union1d(x[0], x[1])}; }},
  };
  if (!table.contains("scatter_reduce_sum_1")) {
    add_reductions(table);
    add_diagonals(table);
  }
  return table;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(indexing_functions)

BOOST_AUTO_TEST_CASE(as_numpy_and_torch_do) {
  const check::DefaultDType numpys(float64);
  std::ifstream in(std::string(LAZY_SOURCE_DIR) + "/tests/golden/indexing_functions.txt");
  int number = 0;
  for (std::string line; std::getline(in, line); ++number) {
    const std::vector<std::string> fields = golden::fields(line);
    const auto [inputs, outputs] = values_of(fields);
    const auto f = functions().find(fields[0]);
    BOOST_REQUIRE_MESSAGE(f != functions().end(), "no function " + fields[0]);
    for (const int form : {0, 1 + number % 2})
      BOOST_TEST_CONTEXT(fields[0] << " of " << name_of(inputs[0].dtype) << to_string(inputs[0].shape)
                                   << " in form " << form << " (line " << number + 1 << ")") {
        Tensors x;
        for (const Value& v : inputs) x.push_back(in_form(v.tensor(), form));
        try {
          const Tensors results = f->second(x);
          BOOST_TEST(results.size() == outputs.size());
          for (size_t i = 0; i < std::min(results.size(), outputs.size()); ++i)
            matches(results[i], outputs[i]);
        } catch (const Error& e) { BOOST_ERROR(e.what()); }
      }
  }
  BOOST_TEST(number > 250);
}

BOOST_AUTO_TEST_SUITE_END()
