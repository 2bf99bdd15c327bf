// Shared by the tests of lazy/io: bytes of files, and loads of files made of bytes.
#pragma once
#include <fstream>
#include <iterator>
#include <string>

#include "tests/common/check.hpp"
#include "tests/common/folder.hpp"

namespace io_test {

inline std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  BOOST_REQUIRE_MESSAGE(in, path);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void write(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Checks that the call throws exactly E, whose message begins with "function: " and has `part` in it.
template <class E, class F>
void fails(F&& call, const std::string& function, const std::string& part,
           const lazy::Site& s = lazy::Site::current()) {
  BOOST_TEST_CONTEXT("from line " << s.line()) {
    try {
      call();
      BOOST_ERROR("nothing was thrown, expected: " + part);
    } catch (const lazy::Error& e) {
      const std::string text = e.what();
      BOOST_TEST((typeid(e) == typeid(E)), text);
      BOOST_TEST(text.starts_with(function + ": "), text);
      BOOST_TEST(text.find(part) != text.npos, "'" << part << "' is not in: " << text);
    }
  }
}

/// Makes new tensors on the CPU for a test of memory that the host shares, whatever LAZY_DEVICE says.
struct OnCpu {
  OnCpu() { lazy::set_default_device(lazy::cpu); }
  OnCpu(const OnCpu&) = delete;
  ~OnCpu() { lazy::set_default_device(before_); }

 private:
  const lazy::Device before_ = lazy::default_device();
};

/// Returns 0, 1, 2, ... as tests/golden/make_files.py makes them.
inline std::vector<double> ramp(lazy::DType t, int64_t count) {
  std::vector<double> v;
  for (int64_t i = 0; i < count; ++i) v.push_back(static_cast<double>(i % (t == lazy::bool_ ? 2 : 100)));
  return v;
}

inline constexpr lazy::DType kAll[] = {
    lazy::bool_,  lazy::int8,   lazy::int16,   lazy::int32,    lazy::int64,   lazy::uint8,  lazy::uint16,
    lazy::uint32, lazy::uint64, lazy::float16, lazy::bfloat16, lazy::float32, lazy::float64};

}  // namespace io_test
