// Compares the assembler's registers and spills with registers.tsv.
#include "tests/backends/cuda/registers.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "backends/cuda/compile.hpp"
#include "backends/cuda/emitter/module.hpp"
#include "tests/backends/cuda/direct.hpp"
#include "tests/backends/cuda/representative.hpp"

using namespace lazy;
using namespace lazy::test;

namespace {

/// Returns the use by kernel, then a tab, then the function's number in its module.
std::map<std::string, Use> measured() {
  std::map<std::string, Use> all;
  for (const Representative& r : representatives()) {
    const cuda_backend::Schedule schedule = cuda_backend::Schedule::of(r.kernel);
    const Compiled c = with_real_nvrtc(cuda_backend::emit(r.kernel, schedule), 90);
    BOOST_REQUIRE_MESSAGE(c.ok, r.name << ": " << c.log);
    BOOST_CHECK_MESSAGE(c.log.find("warning") == c.log.npos, r.name << ": " << c.log);
    for (const auto& f : cuda_backend::functions_in(c.log))
      for (size_t i = 0; i < schedule.functions.size(); ++i)
        if (schedule.functions[i] == f.name)
          all[r.name + "\t" + std::to_string(i)] = {f.registers, f.spill_stores + f.spill_loads};
    for (size_t i = 0; i < schedule.functions.size(); ++i)
      BOOST_REQUIRE_MESSAGE(all.count(r.name + "\t" + std::to_string(i)),
                            "no report of " << schedule.functions[i]);
  }
  return all;
}

std::map<std::string, Use> expected(const std::string& table) {
  std::map<std::string, Use> all;
  std::ifstream file(table);
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream fields(line);
    std::string kernel, function;
    Use use;
    fields >> kernel >> function >> use.registers >> use.spilled;
    all[kernel + "\t" + function] = use;
  }
  return all;
}

}  // namespace

void lazy::test::compare_with_table(const char* table, const std::map<std::string, Use>& now) {
  const std::string path = std::string(LAZY_SOURCE_DIR) + "/tests/backends/cuda/" + table;
  if (std::getenv("LAZY_TEST_REWRITE")) {
    std::ofstream file(path);
    file << "# kernel\tfunction\tregisters\tbytes spilled, for sm_90 (registers.cpp)\n";
    for (const auto& [name, use] : now) file << name << "\t" << use.registers << "\t" << use.spilled << "\n";
    return;
  }
  const auto before = expected(path);
  BOOST_TEST(before.size() == now.size(),
             "the table is of other kernels: LAZY_TEST_REWRITE=1 writes it anew");
  for (const auto& [name, use] : now) {
    const auto found = before.find(name);
    BOOST_REQUIRE_MESSAGE(found != before.end(), name << " is not in the table");
    BOOST_CHECK_MESSAGE(use.spilled <= found->second.spilled, name << " spills " << use.spilled << " bytes");
    // ptxas allocates them in eights.
    BOOST_CHECK_MESSAGE(
        use.registers <= std::max(found->second.registers * 5 / 4, found->second.registers + 8),
        name << " takes " << use.registers << " registers, " << found->second.registers << " before");
  }
}

BOOST_AUTO_TEST_SUITE(cuda_registers)

BOOST_AUTO_TEST_CASE(no_kernel_spills_or_grows) {
  if (!no_real_nvrtc().empty()) {
    BOOST_TEST_MESSAGE("skipped: " << no_real_nvrtc());
    return;
  }
  compare_with_table("registers.tsv", measured());
}

/// As many blocks fit a multiprocessor as their bounds promise.
BOOST_AUTO_TEST_CASE(tensor_cores_do_not_spill_on_any_architecture) {
  if (!no_real_nvrtc().empty()) {
    BOOST_TEST_MESSAGE("skipped: " << no_real_nvrtc());
    return;
  }
  for (const char* name : {"product_f16_gelu", "turned_product", "lowered_product"})
    for (const int architecture : {80, 86, 90, 100, 120}) {
      const auto& kernel = representative(name);
      const cuda_backend::Schedule schedule = cuda_backend::Schedule::of(kernel);
      BOOST_REQUIRE(schedule.has_mma());
      const Compiled c = with_real_nvrtc(cuda_backend::emit(kernel, schedule), architecture);
      BOOST_REQUIRE_MESSAGE(c.ok, c.log);
      for (const auto& f : cuda_backend::functions_in(c.log)) {
        if (f.name.find("_mma") == f.name.npos) continue;
        BOOST_TEST(f.spill_stores + f.spill_loads + f.stack_bytes == 0, f.name << " for sm_" << architecture);
        BOOST_TEST(f.registers <= 128);
        BOOST_TEST(f.registers > 32, "it is empty");
      }
    }
}

BOOST_AUTO_TEST_SUITE_END()
