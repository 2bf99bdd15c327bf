// Finds rows, calls them, and writes what they give.
#include "tests/oracle/table.hpp"

#include <algorithm>
#include <complex>
#include <typeinfo>

namespace oracle {
namespace {

const char* class_of(const Error& e) {
  if (dynamic_cast<const ShapeError*>(&e)) return "ShapeError";
  if (dynamic_cast<const DtypeError*>(&e)) return "DtypeError";
  if (dynamic_cast<const IndexError*>(&e)) return "IndexError";
  if (dynamic_cast<const DeviceError*>(&e)) return "DeviceError";
  if (dynamic_cast<const CompileError*>(&e)) return "CompileError";
  return "Error";
}

/// Appends the elements' bytes as hexadecimal digits.
void append_hex(std::string& out, const char* bytes, size_t n) {
  constexpr const char* kDigits = "0123456789abcdef";
  const size_t begin = out.size();
  out.resize(begin + 2 * n);
  for (size_t i = 0; i < n; ++i) {
    const unsigned b = static_cast<unsigned char>(bytes[i]);
    out[begin + 2 * i] = kDigits[b >> 4], out[begin + 2 * i + 1] = kDigits[b & 15];
  }
}

}  // namespace

std::string_view function_of(const Row& r) {
  const std::string_view name = r.name;
  return name.substr(0, name.find('/'));
}

const std::vector<const Row*>& table() {
  static const std::vector<const Row*> all = [] {
    std::vector<const Row*> v;
    for (const auto& rows : {elementwise_rows(), creation_rows(), reduction_rows(), arranging_rows(),
                             indexing_rows(), product_rows(), linalg_rows(), complex_rows(), number_rows(),
                             random_rows(), activation_rows(), loss_rows(), image_rows()})
      for (const Row& r : rows) v.push_back(&r);
    std::sort(v.begin(), v.end(), [](const Row* a, const Row* b) {
      return std::string_view(a->name) < std::string_view(b->name);
    });
    return v;
  }();
  return all;
}

const Row* find(std::string_view name) {
  const auto& all = table();
  const auto at = std::lower_bound(all.begin(), all.end(), name, [](const Row* r, std::string_view n) {
    return std::string_view(r->name) < n;
  });
  return at != all.end() && name == (*at)->name ? *at : nullptr;
}

Results call(const Row& row, std::span<const std::string_view> arguments, DType tried,
             std::span<const Tensor> variables) {
  Given given(arguments, tried, variables);
  Results r = row.run(given);
  given.end();
  return r;
}

std::string text_of(const Tensor& x) {
  if (!x.defined()) return "none";
  std::string s = name_of(x.dtype());
  s += ' ';
  if (x.ndim() == 0) s += '-';
  for (int i = 0; i < x.ndim(); ++i) s += (i ? "," : "") + std::to_string(x.shape()[i]);
  s += ' ';
  const auto append = [&]<class E>(E) {
    append_hex(s, reinterpret_cast<const char*>(x.data<E>()), x.nbytes());
  };
  switch (x.dtype()) {
    case bool_: append(bool{}); break;
    case int8: append(int8_t{}); break;
    case int16: append(int16_t{}); break;
    case int32: append(int32_t{}); break;
    case int64: append(int64_t{}); break;
    case uint8: append(uint8_t{}); break;
    case uint16: append(uint16_t{}); break;
    case uint32: append(uint32_t{}); break;
    case uint64: append(uint64_t{}); break;
    case float16: append(float16_t{}); break;
    case bfloat16: append(bfloat16_t{}); break;
    case float32: append(float{}); break;
    case float64: append(double{}); break;
    case complex64: append(std::complex<float>{}); break;
    case complex128: append(std::complex<double>{}); break;
  }
  return s;
}

std::string result_of(std::string_view line) {
  const auto fields = split_text(line, '\t');
  const bool graph = !fields.empty() && fields[0] == "graph";
  const Row* const row = fields.empty() ? nullptr : find(fields[0]);
  if (!row && !graph) throw BadCase("no op: " + std::string(line.substr(0, 60)));
  try {
    const auto rest = std::span(fields).subspan(1);
    const Results results = graph ? Results(run_graph(rest)) : call(*row, rest);
    for (const Tensor& r : results)
      if (r.defined()) r.eval();
    std::string s = "ok";
    for (const Tensor& r : results) s += '\t' + text_of(r);
    return s;
  } catch (const Error& e) {
    std::string what = e.what();
    std::replace_if(
        what.begin(), what.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
    return std::string("error\t") + class_of(e) + '\t' + what;
  }
}

}  // namespace oracle
