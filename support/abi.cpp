#include "support/abi.hpp"

namespace lazy::abi {
extern const char LAZY_CONTAINERS = 0;
}
