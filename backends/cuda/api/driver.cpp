#include "backends/cuda/api/driver.hpp"

#include "backends/cuda/api/library.hpp"
#include "support/error.hpp"

namespace lazy::cuda_backend::api {
namespace {

constexpr int kWanted = 12000;  // the version whose functions driver.def names

std::string version_text(int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); }

Driver load() {
  const SharedLibrary library("CUDA driver", {"libcuda.so.1"});
  Driver d;
  // Gets a function. Status: 0 found, 1 no such symbol, 2 the requested version is not enough.
  using Get = Result (*)(const char*, void**, int, unsigned long long, int*);
  Get get = nullptr;
  void* version_of = nullptr;
  (void)library.find("cuGetProcAddress_v2", get);  // since CUDA 12
  (void)library.find("cuDriverGetVersion", version_of);
  int version = 0, ignored = 0;
  if (get) (void)get("cuDriverGetVersion", &version_of, kWanted, 0, &ignored);
  if (version_of) (void)reinterpret_cast<Result (*)(int*)>(version_of)(&version);
  if (!get || version < kWanted)
    throw DeviceError("the CUDA driver (" + library.path() + ") is too old: it supports CUDA " +
                      (version ? version_text(version) : "before 12.0") + ", and " + version_text(kWanted) +
                      " is needed");
  const auto bind = [&](auto& field, const char* name) {
    void* p = nullptr;
    int status = 0;
    if (get(name, &p, kWanted, 0, &status) != kSuccess || !p)
      throw DeviceError("the CUDA driver (" + library.path() + ", CUDA " + version_text(version) +
                        ") has no " + name);
    field = reinterpret_cast<std::remove_reference_t<decltype(field)>>(p);
  };
#define LAZY_DRIVER(field, name, ...) bind(d.field, #name);
#include "backends/cuda/api/driver.def"
  d.version = version;
  const auto require = [&](Result r, const char* what) {
    if (r == kSuccess) return;
    const char *name = nullptr, *text = nullptr;
    if (d.error_name(r, &name) != kSuccess) name = nullptr;
    if (d.error_string(r, &text) != kSuccess) text = nullptr;
    if (r == kNoDevice) throw DeviceError("no CUDA device: the driver (" + library.path() + ") sees none");
    throw DeviceError(std::string("the CUDA driver (") + library.path() + ") does not start: " + what + ": " +
                      (name ? name : "error " + std::to_string(r)) +
                      (text ? " (" + std::string(text) + ")" : ""));
  };
  require(d.init(0), "cuInit");
  require(d.device_count(&d.devices), "cuDeviceGetCount");
  if (d.devices == 0) require(kNoDevice, "");
  return d;
}

}  // namespace

const Driver& driver() {
  static auto& loaded = *new LoadedOnce<Driver>;
  return loaded.get(load);
}

std::string describe(Result r) {
  const char *name = nullptr, *text = nullptr;
  const Driver& d = driver();
  if (d.error_name(r, &name) != kSuccess || !name) return "error " + std::to_string(r);
  if (d.error_string(r, &text) != kSuccess || !text) return name;
  return std::string(name) + " (" + text + ")";
}

void check(Result r, const char* what) {
  if (r != kSuccess) throw DeviceError(std::string(what) + ": " + describe(r));
}

}  // namespace lazy::cuda_backend::api
