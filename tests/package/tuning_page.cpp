// Prints docs/tuning.md from the registry of variables.
#include <iostream>

#include "support/config.hpp"

int main() {
  std::cout << "# Tuning\n\n"
               "Every variable can be set in the environment or from code:\n\n"
               "    LAZY_NUM_THREADS=4 ./program\n"
               "    lazy::config::set(\"LAZY_NUM_THREADS\", \"4\");\n\n"
               "A value set from code goes before the environment's, and that before the default. "
               "`lazy::config::dump()` tells the "
               "values\nin force and where each comes from; `LAZY_CONFIG=help` prints this table when a "
               "program starts. A value that "
               "a variable\ndoes not accept costs one line on standard error and its default is used; with "
               "`LAZY_STRICT=1` it throws "
               "`ConfigError`.\nBooleans are `0|1|on|off|true|false`, sizes `512MiB` or `2G`; a bare number "
               "is bytes.\n\n"
               "This page is generated from the registry (`cmake --build build/release --target docs`).\n\n"
            << lazy::config::markdown();
}
