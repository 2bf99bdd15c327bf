#include "tests/jit/log_lines.hpp"

#include <mutex>

#include "support/log_sink.hpp"

namespace fresh {
namespace {
std::mutex mutex;
std::string lines;
}  // namespace

LogLines::LogLines() {
  lines.clear();
  lazy::log::set_sink([](lazy::log::Channel c, std::string_view t) {
    const std::lock_guard hold(mutex);
    lines += std::string(lazy::log::name_of(c)) + "|" + std::string(t) + "\n";
  });
}
LogLines::~LogLines() { lazy::log::set_sink({}); }
std::string LogLines::text() const {
  const std::lock_guard hold(mutex);
  return lines;
}

}  // namespace fresh
