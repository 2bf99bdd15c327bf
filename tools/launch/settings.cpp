#include "tools/launch/settings.hpp"

#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tools/launch/nearest.hpp"

namespace lazy::tool {
namespace {

constexpr uintmax_t kLargest = 1 << 20;  // bytes of a file

/// Names Accelerate's keys, of ClusterConfig and BaseConfig (accelerate/commands/config/config_args.py).
const std::vector<std::string>& known_keys() {
  static const auto* const keys = new std::vector<std::string>{"compute_environment",
                                                               "distributed_type",
                                                               "mixed_precision",
                                                               "use_cpu",
                                                               "debug",
                                                               "num_processes",
                                                               "machine_rank",
                                                               "num_machines",
                                                               "gpu_ids",
                                                               "main_process_ip",
                                                               "main_process_port",
                                                               "rdzv_backend",
                                                               "same_network",
                                                               "main_training_function",
                                                               "enable_cpu_affinity",
                                                               "fp8_config",
                                                               "deepspeed_config",
                                                               "fsdp_config",
                                                               "parallelism_config",
                                                               "megatron_lm_config",
                                                               "mpirun_config",
                                                               "downcast_bf16",
                                                               "tpu_name",
                                                               "tpu_zone",
                                                               "tpu_use_cluster",
                                                               "tpu_use_sudo",
                                                               "command_file",
                                                               "commands",
                                                               "tpu_vm",
                                                               "tpu_env",
                                                               "dynamo_config"};
  return *keys;
}

struct Source {
  const std::string& path;
  [[noreturn]] void fail(const YAML::Mark& at, const std::string& what) const {
    throw SettingsError(path + ":" + std::to_string(at.line + 1) + ": " + what);
  }
};

std::string word_of(const YAML::Node& n, const std::string& key, const Source& s) {
  if (!n.IsScalar()) s.fail(n.Mark(), key + " is one value, not a list or map");
  return n.Scalar();
}

int number_of(const YAML::Node& n, const std::string& key, int least, int most, const Source& s) {
  const std::string word = word_of(n, key, s);
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < least || value > most)
    s.fail(n.Mark(), key + " is a number from " + std::to_string(least) + " to " + std::to_string(most) +
                         ", not " + word.substr(0, 40));
  return value;
}

bool truth_of(const YAML::Node& n, const std::string& key, const Source& s) {
  bool value = false;
  if (!YAML::convert<bool>::decode(n, value))
    s.fail(n.Mark(), key + " is true or false, not " + word_of(n, key, s).substr(0, 40));
  return value;
}

std::string precision_of(const YAML::Node& n, const Source& s) {
  const std::string word = word_of(n, "mixed_precision", s);
  if (word == "false" || word == "False") return "no";  // what Python makes of an unquoted no
  if (word != "no" && word != "fp16" && word != "bf16")
    s.fail(n.Mark(), "mixed_precision is no, fp16 or bf16, not " + word.substr(0, 40));
  return word;
}

/// Tells if a value asks for nothing: null, false, an empty list, map or word.
bool is_nothing(const YAML::Node& n) {
  if (n.IsNull() || (!n.IsScalar() && n.size() == 0)) return true;
  if (!n.IsScalar()) return false;
  const std::string w = n.Scalar();
  return w.empty() || w == "false" || w == "False" || w == "no" || w == "NO";
}

/// Tells if a key's value is one that a launch is anyway.
bool is_met(const std::string& key, const YAML::Node& n) {
  if (is_nothing(n)) return true;
  if (!n.IsScalar()) return false;
  const std::string w = n.Scalar();
  return (key == "compute_environment" && w == "LOCAL_MACHINE") ||
         (key == "distributed_type" && w == "MULTI_CPU") || (key == "rdzv_backend" && w == "static") ||
         key == "same_network" || (key == "main_training_function" && w == "main");
}

void read_mpirun(const YAML::Node& n, Settings& t, const Source& s) {
  if (is_nothing(n)) return;
  if (!n.IsMap()) s.fail(n.Mark(), "mpirun_config is a map");
  for (const auto& pair : n) {
    const std::string key = word_of(pair.first, "a key of mpirun_config", s);
    if (key == "mpirun_hostfile") t.hostfile = word_of(pair.second, key, s);
    else if (!is_nothing(pair.second)) t.not_honoured.push_back("mpirun_config." + key.substr(0, 60));
  }
}

/// Takes the steps that DeepSpeed's part of a file has; the rest of it is for DeepSpeed.
void read_deepspeed(const YAML::Node& n, Settings& t, const Source& s) {
  if (is_nothing(n)) return;
  if (!n.IsMap()) s.fail(n.Mark(), "deepspeed_config is a map");
  for (const auto& pair : n) {
    const std::string key = word_of(pair.first, "a key of deepspeed_config", s);
    if (key == "gradient_accumulation_steps")
      t.gradient_accumulation_steps = number_of(pair.second, key, 1, 1 << 20, s);
    else if (!is_nothing(pair.second)) t.not_honoured.push_back("deepspeed_config." + key.substr(0, 60));
  }
}

void read_key(const std::string& key, const YAML::Node& n, Settings& t, const Source& s) {
  if (key == "num_processes") t.num_processes = number_of(n, key, 1, 1 << 20, s);
  else if (key == "num_machines") t.num_machines = number_of(n, key, 1, 65536, s);
  else if (key == "machine_rank") t.machine_rank = number_of(n, key, 0, 65535, s);
  else if (key == "mixed_precision") t.mixed_precision = precision_of(n, s);
  else if (key == "debug") t.debug = truth_of(n, key, s);
  else if (key == "use_cpu") t.use_cpu = truth_of(n, key, s);
  else if (key == "enable_cpu_affinity") t.enable_cpu_affinity = truth_of(n, key, s);
  else if (key == "mpirun_config") read_mpirun(n, t, s);
  else if (key == "deepspeed_config") read_deepspeed(n, t, s);
  else if (key == "main_process_ip") t.main_process_ip = is_nothing(n) ? "" : word_of(n, key, s);
  else if (key == "main_process_port") t.main_process_port = n.IsNull() ? 0 : number_of(n, key, 0, 65535, s);
  else if (!is_met(key, n)) t.not_honoured.push_back(key);
}

std::string text_of(const std::string& path) {
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) throw SettingsError(path + ": " + error.message());
  if (size > kLargest)
    throw SettingsError(path + ": " + std::to_string(size) + " bytes; settings have at most 1 MiB");
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  if (!in) throw SettingsError(path + ": can't be read");
  return text.str();
}

}  // namespace

std::string default_settings_path() {
  if (const char* const home = std::getenv("HF_HOME"); home && *home)
    return std::string(home) + "/accelerate/default_config.yaml";
  const char* const cache = std::getenv("XDG_CACHE_HOME");
  const char* const home = std::getenv("HOME");
  const std::string base = cache && *cache ? std::string(cache) : std::string(home ? home : "") + "/.cache";
  return base + "/huggingface/accelerate/default_config.yaml";
}

Settings read_settings(const std::string& path) {
  const Source s{path};
  Settings t;
  try {
    const YAML::Node file = YAML::Load(text_of(path));
    if (!file.IsMap()) throw SettingsError(path + ": a map of settings was expected");
    std::set<std::string> seen;
    for (const auto& pair : file) {
      const std::string key = word_of(pair.first, "a key", s);
      if (!seen.insert(key).second) s.fail(pair.first.Mark(), key.substr(0, 60) + " comes twice");
      const auto& known = known_keys();
      if (std::find(known.begin(), known.end(), key) == known.end())
        s.fail(pair.first.Mark(),
               "there is no setting " + key.substr(0, 60) + "; the nearest is " + nearest(key, known));
      read_key(key, pair.second, t, s);
    }
  } catch (const YAML::Exception& e) {
    throw SettingsError(path + ":" + std::to_string(e.mark.line + 1) + ": " + e.msg);
  }
  check_settings(t, path);
  return t;
}

void check_settings(const Settings& t, const std::string& where) {
  if (t.num_processes % t.num_machines)
    throw SettingsError(where + ": " + std::to_string(t.num_machines) + " machines do not divide " +
                        std::to_string(t.num_processes) + " processes");
  if (t.machine_rank >= t.num_machines)
    throw SettingsError(where + ": machine_rank " + std::to_string(t.machine_rank) + " of " +
                        std::to_string(t.num_machines) + " machines");
}

void write_settings(const std::string& path, const Settings& t) {
  YAML::Emitter out;
  const auto pair = [&out](const char* key, const auto& value) {
    out << YAML::Key << key << YAML::Value << value;
  };
  out << YAML::BeginMap;
  pair("compute_environment", "LOCAL_MACHINE"), pair("debug", t.debug);
  // Quoted, for Python reads a bare NO as false.
  out << YAML::Key << "distributed_type" << YAML::Value << YAML::DoubleQuoted;
  out << (t.num_processes > 1 ? "MULTI_CPU" : "NO");
  pair("downcast_bf16", false);
  pair("enable_cpu_affinity", t.enable_cpu_affinity), pair("machine_rank", t.machine_rank);
  if (!t.main_process_ip.empty()) pair("main_process_ip", t.main_process_ip);
  if (t.main_process_port) pair("main_process_port", t.main_process_port);
  pair("main_training_function", "main");
  out << YAML::Key << "mixed_precision" << YAML::Value << YAML::DoubleQuoted << t.mixed_precision;
  pair("num_machines", t.num_machines), pair("num_processes", t.num_processes);
  pair("rdzv_backend", "static"), pair("same_network", true), pair("use_cpu", t.use_cpu);
  out << YAML::EndMap;
  const std::filesystem::path target(path);
  std::error_code error;
  if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path(), error);
  const std::string part = path + "." + std::to_string(::getpid()) + ".part";
  {
    std::ofstream file(part, std::ios::binary);
    file << out.c_str() << '\n';
    if (!file.flush()) throw SettingsError(part + ": can't be written");
  }
  std::filesystem::rename(part, target, error);
  if (error) throw SettingsError(path + ": " + error.message());
}

}  // namespace lazy::tool
