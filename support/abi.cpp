#include "support/abi.hpp"

namespace lazy::containers_of_build {
extern const char LAZY_CONTAINERS = 0;
}
