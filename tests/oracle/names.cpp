// Reads the public headers, so that no function of theirs is missing in the table.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <set>

#include "tests/oracle/names.hpp"

namespace oracle {
namespace {

/// Adds the functions of namespace lazy that a header declares, and its headers of lazy/ to `open`.
void read_header(const std::string& root, const std::string& header,
                 std::map<std::string, std::string>& names, std::vector<std::string>& open) {
  static const std::regex include("#include \"(lazy/.*)\""),
      declaration(
          "^(?:inline |constexpr |template <.*> )*[A-Z][A-Za-z:<>]* ([a-z]\\w*)\\(.*|"
          "^(?:inline |constexpr )*(?:void|bool|int|std::\\w+(?:<\\w+>)?) ([a-z]\\w*)\\(.*|"
          "^LAZY_ALIAS[12]\\((\\w+),.*");
  std::ifstream in(root + '/' + header);
  if (!in) throw std::runtime_error("no header " + root + '/' + header);
  std::string until;  // the end of something whose functions are not called by name
  for (std::string l; std::getline(in, l);) {
    std::smatch m;
    if (std::regex_match(l, m, include)) open.push_back(m[1]);
    if (l.starts_with("namespace detail {") || l.starts_with("namespace lazy::detail {") ||
        l.starts_with("namespace cache {"))
      until = "}  // namespace";
    else if (l.starts_with("class ") && l.ends_with("{")) until = "};";
    const bool inside = !until.empty();
    if (inside && l.starts_with(until)) until.clear();
    if (inside || !std::regex_match(l, m, declaration)) continue;
    names.emplace(m[1].matched ? m[1] : m[2].matched ? m[2] : m[3], header);
  }
}

/// True if a backend of CUDA's has kernels of its own for calls other than transforms, which have no row: the
/// page does not know how to ask for them without a device.
bool cuda_has_calls(const std::string& root) {
  const std::regex makes_one("make_(?!fft_)\\w+_call\\(");
  for (const auto& file : std::filesystem::recursive_directory_iterator(root + "/backends/cuda")) {
    if (file.path().extension() != ".cpp" && file.path().extension() != ".hpp") continue;
    std::ifstream in(file.path());
    for (std::string l; std::getline(in, l);)
      if (std::regex_search(l, makes_one)) return true;
  }
  return false;
}

int fault(const std::string& what) {
  std::cerr << "lazy_oracle: " << what << '\n';
  return 1;
}

/// Returns 1 and says so where a sample fails with every dtype, or with any but a DtypeError.
int sample_fault(const Row& row) {
  const Tried tried = try_sample(row);
  if (!tried.wrong.empty()) return fault(std::string(row.name) + ": its sample fails: " + tried.wrong);
  return tried.dtypes.empty() ? fault(std::string(row.name) + ": its sample fails with every dtype") : 0;
}

}  // namespace

std::map<std::string, std::string> public_functions(const std::string& root) {
  std::map<std::string, std::string> names;
  std::set<std::string> seen;
  for (std::vector<std::string> open{"lazy/lazy.hpp"}; !open.empty();) {
    const std::string header = open.back();
    open.pop_back();
    if (seen.insert(header).second) read_header(root, header, names, open);
  }
  return names;
}

const std::map<std::string, std::string>& excluded() {
  static const std::map<std::string, std::string> all = [] {
    std::map<std::string, std::string> v;
    const auto add = [&](const char* reason, std::initializer_list<const char*> names) {
      for (const char* n : names) v.emplace(n, reason);
    };
    add("sets up or describes the process",
        {"default_device", "set_default_device", "is_available", "cuda_is_available", "cuda_device_count",
         "describe", "synchronize", "machine", "set_arena", "set_default_dtype", "get_default_dtype",
         "default_generator", "manual_seed", "seed", "release_memory"});
    add("runs or reports what was recorded",
        {"eval", "explain", "summary", "print", "to_string", "format", "get_printoptions", "set_printoptions",
         "mark_dynamic", "mark_static"});
    add("takes C++ values or memory: the cases' own tensors are made so",
        {"tensor", "array", "from_span", "from_blob"});
    add("gives no tensor", {"promote_types", "finfo", "iinfo", "slice", "dtype_of", "ix_", "is_complex"});
    add("Fourier transforms: tests/lazy/fft/golden.cpp compares with NumPy",
        {"fft", "ifft", "rfft", "irfft", "hfft", "ihfft", "fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn",
         "rfftn", "irfftn", "fftfreq", "rfftfreq", "fftshift", "ifftshift"});
    add("signals: tests/lazy/fft/signal.cpp compares with SciPy",
        {"stft", "istft", "dct", "idct", "hilbert", "fftconvolve", "periodogram", "hann_window",
         "hamming_window", "blackman_window", "bartlett_window", "kaiser_window"});
    add("reads or writes files and memory of others", {"read_csv",
                                                       "write_csv",
                                                       "write_jpeg",
                                                       "read_wav",
                                                       "write_wav",
                                                       "imread",
                                                       "imwrite",
                                                       "to_dlpack",
                                                       "from_dlpack",
                                                       "read_png",
                                                       "read_jpeg",
                                                       "write_png",
                                                       "read_pnm",
                                                       "write_pnm",
                                                       "save",
                                                       "load",
                                                       "save_npz",
                                                       "savez",
                                                       "load_npz",
                                                       "load_safetensors",
                                                       "save_safetensors",
                                                       "load_safetensors_index"});
    add("differentiates functions, not tensors",
        {"vjp", "jacrev", "jacobian", "jacfwd", "hessian", "grad", "value_and_grad", "value_and_grad_of",
         "jvp", "linearize", "hessian_vector", "vmap", "checkpoint", "custom_function", "register_hook",
         "register_post_accumulate_grad_hook", "is_grad_enabled", "is_inference_mode_enabled",
         "is_inference"});
    return v;
  }();
  return all;
}

int print_faults(const std::string& root) {
  const auto names = public_functions(root);
  std::set<std::string, std::less<>> rows;
  int faults = 0;
  for (const Row* r : table()) {
    rows.emplace(function_of(*r));
    faults += sample_fault(*r);
  }
  for (const auto& [name, header] : names)
    if (!rows.contains(name) && !excluded().contains(name))
      faults += fault(name + " of " + header + " has no row in tests/oracle/ops_*.cpp");
  for (const auto& name : rows)
    if (!names.contains(name)) faults += fault("the row " + name + " is of no public function");
  for (size_t i = 1; i < table().size(); ++i)
    if (std::string_view(table()[i - 1]->name) == table()[i]->name)
      faults += fault(std::string("two rows are called ") + table()[i]->name);
  if (names.size() < 250) faults += fault("the headers of " + root + " cannot be read");
  if (cuda_has_calls(root))
    faults += fault("backends/cuda has calls of its own: page.cpp says that it has none");
  return faults + print_map_faults(root + "/tests/oracle");
}

}  // namespace oracle
