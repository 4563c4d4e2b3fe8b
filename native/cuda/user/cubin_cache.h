// Disk cache of machine code that the driver has compiled, for later processes.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace mpmml::cuda {

/// Files in a folder that only this user can access. Processes may share the folder: files are written atomically, and
/// incomplete files and files of other keys are ignored. No function throws: without a usable folder, or on a full
/// disk, code is compiled again.
class CubinCache {
 public:
  /// Creates a cache in a subfolder of `parent`; an empty `parent` disables it. All files together have at most `bytes`
  /// bytes; the least recently used files are deleted first.
  CubinCache(const std::string& parent, int64_t bytes)
      : folder_(parent.empty() ? "" : parent + "/cubins"), bytes_(bytes) {}

  std::optional<std::string> find(const std::string& key);
  void store(const std::string& key, const std::string& code);

 private:
  bool open();
  std::string path_of(const std::string& key) const;
  void drop_oldest();

  const std::string folder_;
  const int64_t bytes_;
  std::mutex mutex_;
  std::optional<bool> is_open_;  ///< guarded by mutex_
};

}  // namespace mpmml::cuda
