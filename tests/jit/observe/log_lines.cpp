#include "tests/common/log_lines.hpp"

#include <mutex>

#include "support/log_sink.hpp"

namespace fresh {
namespace {
std::mutex mutex;
std::string lines;
}  // namespace

LogLines::LogLines() {
  lines.clear();
  lazy::logging::set_sink([](lazy::logging::Channel c, std::string_view t) {
    const std::lock_guard hold(mutex);
    lines += std::string(lazy::logging::name_of(c)) + "|" + std::string(t) + "\n";
  });
}
LogLines::~LogLines() { lazy::logging::set_sink({}); }
std::string LogLines::text() const {
  const std::lock_guard hold(mutex);
  return lines;
}

}  // namespace fresh
