// Tests the transposition in registers at every level that the machine has.
#include "backends/cpu/packing/strips.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <vector>

using namespace lazy::cpu_backend;

namespace {

constexpr int64_t kExtents[] = {0, 1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 17, 23, 31, 32, 33, 50};

/// Transposes so many columns, which lie apart as their results do, and compares with a copy element by
/// element.
void check(int64_t size, int64_t rows, int64_t columns, Isa level) {
  const int64_t column = (rows + 3) * size, pitch = (columns + 5) * size;
  std::vector<char> from(static_cast<size_t>((columns + 1) * column)),
      to(static_cast<size_t>((rows + 1) * pitch), char{77}), expected = to;
  for (size_t i = 0; i < from.size(); ++i) from[i] = static_cast<char>(i * 31 + i / 251);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      std::memcpy(expected.data() + i * pitch + j * size, from.data() + j * column + i * size,
                  static_cast<size_t>(size));
  const int64_t alone = transpose(from.data(), column, size, rows, columns, to.data(), pitch, level);
  BOOST_TEST((to == expected), "elements of " << size << " bytes, " << rows << " by " << columns);
  const bool in_registers = size >= 4 && rows >= 4 && columns >= 4;
  BOOST_TEST(alone == (in_registers ? 0 : rows * columns));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(strips)

BOOST_AUTO_TEST_CASE(every_element_is_in_its_place) {
  for (const Isa level : {Isa::avx2, Isa::avx512}) {
    if (level > best_isa()) continue;
    for (const int64_t size : {2, 4, 8})
      for (const int64_t rows : kExtents)
        for (const int64_t columns : kExtents) check(size, rows, columns, level);
  }
}

BOOST_AUTO_TEST_SUITE_END()
