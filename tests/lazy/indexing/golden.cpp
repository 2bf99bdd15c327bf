// Compares x(...) with what NumPy's indexing gives in tests/golden/indexing.txt (its format:
// tests/golden/make_indexing.py): reading and writing, with operands in memory, with negative strides, and
// not computed yet.
#include <cstring>
#include <fstream>

#include "tests/common/check.hpp"
#include "tests/common/golden_lines.hpp"

using namespace lazy;
using golden::words;

namespace {

/// Holds a value of the file.
struct Value {
  bool is_input;
  DType dtype;
  Shape shape;
  std::vector<char> bytes;

  explicit Value(const std::string& field) {
    const std::vector<std::string> w = words(field);
    is_input = w[0] == "in";
    dtype = golden::dtype_named(w[1]);
    if (w[2] != "-")
      for (const std::string& n : words(w[2], ',')) shape.push_back(std::stoll(n));
    for (size_t i = 3; i < w.size(); ++i) {
      const uint64_t bits = std::stoull(w[i], nullptr, 16);
      bytes.insert(bytes.end(), reinterpret_cast<const char*>(&bits),
                   reinterpret_cast<const char*>(&bits) + size_of(dtype));
    }
    bytes.resize(bytes.size() + 1);  // never a null pointer
  }
  Tensor tensor() const {
    char* const copied = new char[bytes.size()];
    std::memcpy(copied, bytes.data(), bytes.size());
    return from_blob(copied, shape, dtype, {}, [](void* p) { delete[] static_cast<char*>(p); });
  }
};

/// Returns the same elements in memory, with negative strides, or not computed yet.
Tensor in_form(const Tensor& x, int form) {
  if (form == 1) return flip(flip(x).copy().eval());
  if (form == 2) return where(x == x, x, x);
  return x;
}

Bound bound(const std::string& w) { return w == "none" ? Bound(none) : Bound(std::stoll(w)); }

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

void matches(const Tensor& x, const Value& want) {
  BOOST_TEST(std::string(name_of(x.dtype())) == name_of(want.dtype));
  BOOST_TEST(to_string(x.shape()) == to_string(want.shape));
  if (x.dtype() != want.dtype || !(x.shape() == want.shape)) return;
  BOOST_TEST(x.to_vector<double>() == want.tensor().to_vector<double>(), boost::test_tools::per_element());
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
    std::vector<Value> inputs, outputs;
    for (size_t i = 1; i < fields.size(); ++i) {
      Value v(fields[i]);
      (v.is_input ? inputs : outputs).push_back(std::move(v));
    }
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
