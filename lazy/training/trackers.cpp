#include "lazy/training/trackers.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "lazy/io/file.hpp"
#include "lazy/training/event_writer.hpp"
#include "support/error.hpp"
#include "support/files.hpp"

namespace lazy::training {
namespace {

class EventTracker final : public Tracker {
 public:
  EventTracker(const std::string& folder, const Site& s) : writer_(folder, s) {}
  void configure(const std::map<std::string, std::string>&, Site) override {
  }  // event files here have numbers
  void log(const std::vector<std::pair<std::string, double>>& values, int64_t step, Site s) override {
    for (const auto& [name, v] : values) writer_.add_scalar(name, v, step, s);
  }

 private:
  EventWriter writer_;
};

/// Returns a text as a field of a line.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

class CsvTracker final : public Tracker {
 public:
  CsvTracker(const std::string& folder, const Site& s) : folder_(folder), path_(folder + "/log.csv") {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) throw IoError("csv_tracker: cannot make " + folder + ": " + error.message(), s);
    const bool is_new = std::filesystem::file_size(path_, error) == 0 || error;
    fd_ = files::open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
    if (fd_ < 0) fail("csv_tracker", s);
    if (is_new) put("csv_tracker", "step,name,value\n", s);
  }
  ~CsvTracker() override {
    if (fd_ >= 0) ::close(fd_);
  }
  void configure(const std::map<std::string, std::string>& config, Site s) override {
    lazy::detail::NewFile file("init_trackers", folder_ + "/config.json", s);
    file.put(nlohmann::json(config).dump(1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n");
    file.finish();
  }
  void log(const std::vector<std::pair<std::string, double>>& values, int64_t step, Site s) override {
    std::string lines;
    for (const auto& [name, v] : values) {
      char number[40];
      std::snprintf(number, sizeof number, "%.17g", v);
      lines += std::to_string(step) + "," + csv_field(name) + "," + number + "\n";
    }
    put("log", lines, s);
  }

 private:
  void put(const char* op, const std::string& lines, const Site& s) {
    bool torn = false;
    if (!files::write_record(fd_, lines.data(), lines.size(), torn)) fail(op, s);
  }
  [[noreturn]] void fail(const char* op, const Site& s) const {
    throw IoError(std::string(op) + ": cannot write " + path_ + ": " + std::strerror(errno), s);
  }
  const std::string folder_, path_;
  int fd_ = -1;
};

}  // namespace

std::unique_ptr<Tracker> event_tracker(const std::string& folder, Site s) {
  return std::make_unique<EventTracker>(folder, s);
}
std::unique_ptr<Tracker> csv_tracker(const std::string& folder, Site s) {
  return std::make_unique<CsvTracker>(folder, s);
}

}  // namespace lazy::training
