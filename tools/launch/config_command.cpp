// lazy-launch config: asks for the settings of launches, and writes Accelerate's file of them.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <iostream>

#include "tools/launch/commands.hpp"
#include "tools/launch/settings.hpp"
#include "tools/launch/words.hpp"

namespace lazy::tool {
namespace {

/// Is thrown where the answers end before the questions.
struct NoAnswer : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string answer_to(const std::string& question, const std::string& otherwise) {
  std::fprintf(stdout, "%s [%s]: ", question.c_str(), otherwise.c_str());
  std::fflush(stdout);
  std::string line;
  if (!std::getline(std::cin, line)) throw NoAnswer("the answers ended at: " + question);
  return line.empty() ? otherwise : line;
}

/// Asks until the answer is a number of the range.
int ask_number(const std::string& question, int otherwise, int least, int most) {
  for (;;) {
    const std::string word = answer_to(question, std::to_string(otherwise));
    int value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error == std::errc() && end == word.data() + word.size() && value >= least && value <= most)
      return value;
    std::fprintf(stdout, "  a number from %d to %d is needed, not %s\n", least, most, word.c_str());
  }
}

std::string ask_precision(const std::string& otherwise) {
  for (;;) {
    const std::string word = answer_to("Mixed precision: no, fp16 or bf16", otherwise);
    if (word == "no" || word == "fp16" || word == "bf16") return word;
    std::fprintf(stdout, "  no, fp16 or bf16 is needed, not %s\n", word.c_str());
  }
}

Settings ask() {
  Settings t;
  t.num_machines = ask_number("Machines", 1, 1, 65536);
  if (t.num_machines > 1) {
    t.machine_rank = ask_number("Number of this machine, from 0 on", 0, 0, t.num_machines - 1);
    t.main_process_ip = answer_to("Address of machine 0", "127.0.0.1");
    t.main_process_port = ask_number("Port of rank 0", 29500, 1, 65535);
  }
  t.num_processes = t.num_machines * ask_number("Ranks on each machine", 1, 1, 1024);
  t.mixed_precision = ask_precision(t.mixed_precision);
  return t;
}

}  // namespace

int config_command(int argc, char** argv) {
  CLI::App app("Asks for the settings of launches and writes them as Accelerate's YAML.",
               "lazy-launch config");
  std::string path = default_settings_path(), how, precision = "no";
  app.add_option("--config_file", path, "the file to write")->capture_default_str();
  app.add_option("--mixed_precision", precision, "of `default`: no, fp16 or bf16")
      ->check(CLI::IsMember({"no", "fp16", "bf16"}));
  app.add_option("HOW", how, "`default` writes one rank's settings and asks nothing")
      ->check(CLI::IsMember({"default"}));
  if (const auto status = parsed(app, argc, argv)) return *status;
  Settings t;
  t.mixed_precision = precision;
  try {
    if (how.empty()) t = ask();
    write_settings(path, t);
  } catch (const NoAnswer& e) {
    std::fprintf(stderr, "\nlazy-launch config: %s; nothing was written\n", e.what());
    return 2;
  }
  std::fprintf(stdout, "written to %s\n", path.c_str());
  return 0;
}

}  // namespace lazy::tool
