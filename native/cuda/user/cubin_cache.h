// Machine code that the driver has made, kept in a folder for later processes.
#pragma once
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>

namespace mpmml::cuda {

/// Files in a folder that only this user may enter. Other processes may use the folder at the same time: a file appears whole, and what
/// isn't whole or isn't for the key isn't taken. Nothing here throws: a folder that can't be had or a full disk only means that
/// code is compiled again.
class CubinCache {
 public:
  /// In a folder of its own within `parent`, which may be empty: then nothing is kept. All files together take at most `bytes`; those
  /// that haven't been used for longest go first.
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
