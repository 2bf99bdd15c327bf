// Names the subcommands of lazy-launch. Each takes its words, the first of which is its name, and returns the
// exit status: 2 for a command line that makes no sense.
#pragma once

namespace lazy::tool {

int run_command(int argc, char** argv);       // starts ranks
int config_command(int argc, char** argv);    // writes settings
int env_command(int argc, char** argv);       // prints what a launch would find here
int estimate_command(int argc, char** argv);  // prints the memory that training takes
int merge_command(int argc, char** argv);     // puts the parts of a model into one file
int test_command(int argc, char** argv);      // runs the ranks of a small program
int test_rank();                              // is one of them

}  // namespace lazy::tool
