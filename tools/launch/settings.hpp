// Reads and writes what a launch is to be: the YAML files of Hugging Face's `accelerate config`.
#pragma once
#include <stdexcept>
#include <string>
#include <vector>

namespace lazy::tool {

/// Is thrown for a file of settings that can't be read; the message names file, line and key.
struct SettingsError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Holds the settings of a launch by Accelerate's names.
struct Settings {
  int num_processes = 1;                  // ranks of all machines together, from 1 on
  int num_machines = 1;                   // from 1 on; divides num_processes
  int machine_rank = 0;                   // this machine's number, below num_machines
  std::string main_process_ip;            // where rank 0 is; empty: 127.0.0.1
  int main_process_port = 0;              // 1 to 65535; 0: a free one, or 29500 for several machines
  std::string mixed_precision = "no";     // no, fp16 or bf16
  int gradient_accumulation_steps = 0;    // batches to a step; 0: as the program says
  std::string hostfile;                   // of mpirun_config; empty: none
  bool debug = false;                     // as ACCELERATE_DEBUG_MODE for the program
  bool enable_cpu_affinity = false;       // written as it was read: ranks are bound to cores anyway
  bool use_cpu = true;                    // written as it was read
  std::vector<std::string> not_honoured;  // keys that ask for what there is not, in the file's order
};

/// Returns $HF_HOME/accelerate/default_config.yaml, or the same under ~/.cache/huggingface.
std::string default_settings_path();
/// Reads a file. SettingsError for one that can't be read, is above 1 MiB or no map, for keys that Accelerate
/// does not have (naming the nearest that it has), keys that come twice, and values out of range.
Settings read_settings(const std::string& path);
/// Throws SettingsError, naming `where`, for numbers that do not go together.
void check_settings(const Settings&, const std::string& where);
/// Writes the file, and the folders it is in, by a rename: an older file stays whole until then.
void write_settings(const std::string& path, const Settings&);

}  // namespace lazy::tool
