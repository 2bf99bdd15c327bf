// Runs lazy-report: makes a page about what LAZY_PROFILE recorded.
#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>

#include "exchanges.hpp"
#include "memory.hpp"
#include "model_picture.hpp"
#include "page.hpp"
#include "summary.hpp"
#include "trace.hpp"

namespace {

enum Status { kDone = 0, kFailed = 1, kUsage = 2, kBadTrace = 3 };

void write(const std::string& path, const std::string& page) {
  if (path == "-") {
    std::cout << page << std::flush;
    if (!std::cout) throw std::runtime_error("cannot write to standard output");
    return;
  }
  std::ofstream out(path, std::ios::binary);
  out << page;
  if (!out.flush()) throw std::runtime_error("cannot write " + path + ": " + std::strerror(errno));
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error like others
  CLI::App app{
      "Makes one HTML page of a trace that LAZY_PROFILE=trace.json wrote: timeline, flushes and why they\n"
      "compiled, kernels against the machine's limits, what ranks exchanged, graphs with their fusion "
      "groups,\n"
      "memory. Or prints a summary of it (--text, --json).",
      "lazy-report"};
  std::string trace_path, page_path = "report.html", title, against_path;
  size_t most_spans = 300000;
  app.add_option("trace", trace_path, "trace file")->required();
  app.add_option("-o,--output", page_path, "page to write; - is standard output")->capture_default_str();
  bool text = false, json = false;
  auto* const as_text = app.add_flag(
      "--text", text, "print a summary in place of a page: flushes by the line that asked, exchanges");
  app.add_flag("--json", json, "print the summary as JSON")->excludes(as_text);
  app.add_option("--against", against_path,
                 "another trace, which the page shows beside this one, line by line")
      ->excludes("--text")
      ->excludes("--json");
  std::string picture_path;
  int64_t program = 0;
  size_t depth = 8;
  auto* const picture =
      app.add_option("--model", picture_path,
                     "write a picture (SVG) of the model in place of a page: its modules, which "
                     "lazy::TraceModules names, and the way of values through them; - is standard output")
          ->excludes("--text")
          ->excludes("--json")
          ->excludes("--against");
  app.add_option("--program", program,
                 "number of the program that the picture is of; 0: that of most modules")
      ->needs(picture);
  app.add_option("--depth", depth, "names in a module's path at most: 1 shows the outermost ones")
      ->needs(picture)
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  app.add_option("--title", title, "heading of the page; the trace's name if not given");
  app.add_option("--max-spans", most_spans, "most spans in the timeline; the shortest are left out")
      ->capture_default_str();
  app.footer("Exit status: 0 done, 1 a file cannot be read or written, 2 wrong arguments, 3 not a trace.");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) { return app.exit(e) == 0 ? kDone : kUsage; }
  try {
    if (title.empty()) title = std::filesystem::path(trace_path).filename().string();
    const report::Trace trace = report::read_trace(trace_path);
    if (text || json) {
      const lazy::Summary summary = report::summary_of(trace);
      if (text) {
        write("-", to_string(summary) + report::exchanges_text(trace) + report::memory_text(trace));
        return kDone;
      }
      std::string object = to_json(summary);
      const auto add = [&](const char* name, const std::string& value) {
        object.replace(object.rfind('}'), 1, ", \"" + std::string(name) + "\": " + value + "}");
      };
      if (const auto exchanges = report::exchanges_json(trace, 1e-3, "_ms"); !exchanges.empty())
        add("exchanges", exchanges.dump());
      if (const auto memory = report::memory_summary(trace); !memory.is_null()) add("memory", memory.dump());
      write("-", object);
      return kDone;
    }
    if (!picture_path.empty()) {
      write(picture_path, report::model_picture(trace, program, depth));
      return kDone;
    }
    std::optional<report::Against> against;
    if (!against_path.empty())
      against = {report::read_trace(against_path), std::filesystem::path(against_path).filename().string()};
    write(page_path, report::make_page(trace, title, most_spans, against ? &*against : nullptr));
  } catch (const report::BadTrace& e) {
    std::cerr << "lazy-report: " << e.what() << '\n';
    return kBadTrace;
  } catch (const std::exception& e) {
    std::cerr << "lazy-report: " << e.what() << '\n';
    return kFailed;
  }
  return kDone;
}
