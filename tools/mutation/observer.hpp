// Extends the copy's tests/common/main.cpp: notes which mutants each test reaches, or ends the run at the
// first failure.
#include <sys/resource.h>
#include <unistd.h>

#include <boost/test/framework.hpp>
#include <boost/test/tree/observer.hpp>
#include <cstdio>
#include <cstring>

#include "support/mutation_switch.hpp"

namespace lazy_mutation {
extern unsigned char* marks;
extern long marks_size;

class Observer : public boost::unit_test::test_observer {
 public:
  void test_unit_start(const boost::unit_test::test_unit& u) override {
    if (u.p_type != boost::unit_test::TUT_CASE) return;
    running_ = &u;
    failed_ = false;
    began_ = used();
    if (marks) std::memset(marks, 0, static_cast<size_t>(marks_size));
    if (active > 0) say("runs");
  }
  // Writes a line a test: microseconds or, if it fails, -1; name, mutants.
  void test_unit_finish(const boost::unit_test::test_unit& u, unsigned long) override {
    if (u.p_type != boost::unit_test::TUT_CASE || !marks) return;
    std::FILE* const out = std::fopen(std::getenv("MUTANT_REACHED"), "a");
    std::fprintf(out, "%lld\t%s\t", failed_ ? -1 : used() - began_, u.full_name().c_str());
    for (long id = 0; id < marks_size; ++id)
      if (marks[id]) std::fprintf(out, " %ld", id);
    std::fprintf(out, "\n");
    std::fclose(out);
  }
  void assertion_result(boost::unit_test::assertion_result r) override {
    if (r == boost::unit_test::AR_FAILED) end();
  }
  void exception_caught(const boost::execution_exception&) override { end(); }
  void test_unit_aborted(const boost::unit_test::test_unit&) override { end(); }

 private:
  /// Returns microseconds of processors that this process and its children used, independent of other work.
  static long long used() {
    long long all = 0;
    for (const int whose : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
      rusage r{};
      getrusage(whose, &r);
      all += (r.ru_utime.tv_sec + r.ru_stime.tv_sec) * 1000000LL + r.ru_utime.tv_usec + r.ru_stime.tv_usec;
    }
    return all;
  }
  void say(const char* what) {
    if (running_) dprintf(2, "\nmutation: %s %s\n", what, running_->full_name().c_str());
  }
  void end() {
    failed_ = true;
    if (active <= 0) return;
    say("fails");
    _exit(99);
  }
  const boost::unit_test::test_unit* running_ = nullptr;
  long long began_ = 0;
  bool failed_ = false;
};

// The observer is registered when tests begin: a static's constructor may run too early for it.
struct Watched {
  Watched() {
    static Observer observer;
    boost::unit_test::framework::register_observer(observer);
  }
};
BOOST_TEST_GLOBAL_FIXTURE(Watched);

}  // namespace lazy_mutation
