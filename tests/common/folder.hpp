// Makes a folder that is removed with the object.
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace lazy::test {

class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "lazy-test-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  Folder(const Folder&) = delete;
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  /// Returns the names of its files with this ending, or of those in a folder in it.
  std::vector<std::string> files(const std::string& ending = "", const std::string& in = "") const {
    std::vector<std::string> names;
    for (const auto& e : std::filesystem::directory_iterator(path_ + "/" + in))
      if (e.path().filename().string().ends_with(ending)) names.push_back(e.path().filename().string());
    return names;
  }

 private:
  std::string path_;
};

}  // namespace lazy::test
