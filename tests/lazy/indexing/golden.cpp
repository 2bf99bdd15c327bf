// Compares x(...) with what NumPy's indexing gives in tests/golden/indexing.txt (its format:
// tests/golden/make_indexing.py): reading and writing, with operands in memory, with negative strides, and
// not computed yet.
#include <fstream>

#include "tests/common/check.hpp"
#include "tests/lazy/indexing/golden_values.hpp"

using namespace lazy;
using golden::words;
using namespace golden_values;

namespace {

SliceBound bound(const std::string& w) { return w == "none" ? SliceBound(none) : SliceBound(std::stoll(w)); }

Index index_of(const std::string& w, const std::vector<Tensor>& inputs) {
  if (w == "_") return _;
  if (w == "...") return ellipsis;
  if (w == "n") return newaxis;
  if (w[0] == 't') return inputs.at(std::stoul(w.substr(1)));
  if (w[0] == 'l') {
    std::vector<int64_t> list;
    for (const std::string& i : words(w.substr(1), ',')) list.push_back(std::stoll(i));
    return list;
  }
  const std::vector<std::string> parts = words(w, ':');
  if (parts.size() == 1) return std::stoll(w);
  return slice(bound(parts[0]), bound(parts[1]), bound(parts[2]));
}

Tensor answer(const std::string& how, const std::vector<std::string>& index,
              const std::vector<Tensor>& inputs) {
  Tensor x = inputs[0];
  // One tensor alone goes its own way.
  if (index.size() == 1 && index[0] == "t1") {
    const Tensor &i = inputs[1], &v = inputs.back();
    if (how == "get") return x(i);
    if (how == "set") x(i) = v;
    else if (how == "add") x(i) += v;
    else x(i) *= v;
    return x;
  }
  std::vector<Index> list;
  for (const std::string& w : index) list.push_back(index_of(w, inputs));
  if (how == "get") return x(list);
  if (how == "set") x(list) = inputs.back();
  else if (how == "add") x(list) += inputs.back();
  else x(list) *= inputs.back();
  return x;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(indexing)

BOOST_AUTO_TEST_CASE(as_numpy_does) {
  std::ifstream in(std::string(LAZY_SOURCE_DIR) + "/tests/golden/indexing.txt");
  int number = 0;
  for (std::string line; std::getline(in, line); ++number) {
    const std::vector<std::string> fields = golden::fields(line);
    std::vector<std::string> index = words(fields[0]);
    const std::string how = index[0];
    index.erase(index.begin());
    const auto [inputs, outputs] = values_of(fields);
    for (const int form : {0, 1 + number % 2})
      BOOST_TEST_CONTEXT(fields[0] << " of " << name_of(inputs[0].dtype) << to_string(inputs[0].shape)
                                   << " in form " << form << " (line " << number + 1 << ")") {
        std::vector<Tensor> x;
        for (const Value& v : inputs) x.push_back(in_form(v.tensor(), form));
        try {
          matches(answer(how, index, x), outputs[0]);
        } catch (const Error& e) { BOOST_ERROR(e.what()); }
      }
  }
  BOOST_TEST(number > 500);
}

BOOST_AUTO_TEST_SUITE_END()
