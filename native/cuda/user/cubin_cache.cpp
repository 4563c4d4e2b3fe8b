#include "cuda/user/cubin_cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <utility>
#include <vector>

namespace mpmml::cuda {
namespace {

constexpr char kSuffix[] = ".cubin", kUnfinished[] = ".part";
/// Age in seconds from which temporary files of ended processes are deleted.
constexpr time_t kForgottenSeconds = 3600;

/// Returns the FNV-1a hash of a string.
uint64_t hash_of(const std::string& text, uint64_t seed = 0) {
  uint64_t hash = 0xcbf29ce484222325 ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}

std::string hexadecimal(uint64_t number) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text(16, '0');
  for (int digit = 15; digit >= 0; --digit, number >>= 4) text[digit] = kDigits[number & 15];
  return text;
}

bool ends_with(const std::string& text, const char* end) {
  const size_t length = std::strlen(end);
  return text.size() >= length && text.compare(text.size() - length, length, end) == 0;
}

/// Returns the contents of a cache file: a line with the sizes and a checksum, the key, and the code.
std::string packed(const std::string& key, const std::string& code) {
  const std::string all = key + code;
  return "mpmml cubin " + std::to_string(key.size()) + " " + std::to_string(code.size()) + " " +
         hexadecimal(hash_of(all)) + "\n" + all;
}

class File {
 public:
  File(const std::string& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, 0600)) {}
  ~File() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  bool is_own(struct stat& status) const {
    return ::fstat(descriptor_, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid();
  }
  std::optional<std::string> read(size_t size) const {
    std::string text(size, '\0');
    for (size_t done = 0; done < size;) {
      const ssize_t got = ::read(descriptor_, &text[done], size - done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return std::nullopt;
      done += static_cast<size_t>(got);
    }
    return text;
  }
  bool write(const std::string& text) const {
    for (size_t done = 0; done < text.size();) {
      const ssize_t got = ::write(descriptor_, text.data() + done, text.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      done += static_cast<size_t>(got);
    }
    return true;
  }
  /// Closes the file. Some file systems report only then that they are full.
  bool close() { return ::close(std::exchange(descriptor_, -1)) == 0; }
  void touch() const { ::futimens(descriptor_, nullptr); }

 private:
  int descriptor_;
};

/// Creates a folder and its parents.
bool make_folders(const std::string& path) {
  for (size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST && end == std::string::npos) return false;
    if (end == std::string::npos) return true;
  }
}

}  // namespace

bool CubinCache::open() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (is_open_) return *is_open_;
  const auto make = [&] {
    if (folder_.empty() || bytes_ <= 0 || !make_folders(folder_)) return false;
    struct stat status;
    if (::lstat(folder_.c_str(), &status) != 0 || !S_ISDIR(status.st_mode) || status.st_uid != ::geteuid())
      return false;
    // The code will be run, so no other user may write to the folder.
    return (status.st_mode & 077) == 0 || ::chmod(folder_.c_str(), 0700) == 0;
  };
  is_open_ = make();
  return *is_open_;
}

std::string CubinCache::path_of(const std::string& key) const {
  return folder_ + "/" + hexadecimal(hash_of(key)) + hexadecimal(hash_of(key, 0x9e3779b97f4a7c15)) + kSuffix;
}

std::optional<std::string> CubinCache::find(const std::string& key) {
  if (!open()) return std::nullopt;
  const File file(path_of(key), O_RDONLY | O_NONBLOCK);
  struct stat status;
  if (!file.is_open() || !file.is_own(status) || status.st_size > bytes_) return std::nullopt;
  const std::optional<std::string> text = file.read(static_cast<size_t>(status.st_size));
  if (!text) return std::nullopt;
  const size_t line = text->find('\n');
  if (line == std::string::npos || text->compare(line + 1, key.size(), key) != 0) return std::nullopt;
  std::string code = text->substr(std::min(text->size(), line + 1 + key.size()));
  if (packed(key, code) != *text) return std::nullopt;
  file.touch();
  return code;
}

void CubinCache::store(const std::string& key, const std::string& code) {
  const std::string text = packed(key, code);
  if (static_cast<int64_t>(text.size()) > bytes_ || !open()) return;
  static std::atomic<unsigned> count{0};
  const std::string path = path_of(key),
                    unfinished = path + "." + std::to_string(::getpid()) + "." + std::to_string(count++) + kUnfinished;
  bool is_there;
  {
    File file(unfinished, O_WRONLY | O_CREAT | O_EXCL);
    if (!file.is_open()) return;
    is_there = file.write(text);
    is_there = file.close() && is_there;
  }
  if (!is_there || ::rename(unfinished.c_str(), path.c_str()) != 0) ::unlink(unfinished.c_str());
  drop_oldest();
}

void CubinCache::drop_oldest() {
  struct Entry {
    timespec used;
    std::string path;
    int64_t bytes;
  };
  std::vector<Entry> entries;
  int64_t bytes = 0;
  DIR* const folder = ::opendir(folder_.c_str());
  if (!folder) return;
  while (const dirent* found = ::readdir(folder)) {
    const std::string path = folder_ + "/" + found->d_name;
    struct stat status;
    const bool is_unfinished = ends_with(path, kUnfinished);
    if ((!is_unfinished && !ends_with(path, kSuffix)) || ::lstat(path.c_str(), &status) != 0) continue;
    if (!S_ISREG(status.st_mode)) continue;
    if (is_unfinished && status.st_mtime + kForgottenSeconds < ::time(nullptr)) {
      ::unlink(path.c_str());
      continue;
    }
    bytes += status.st_size;
    if (!is_unfinished) entries.push_back({status.st_mtim, path, status.st_size});
  }
  ::closedir(folder);
  std::sort(entries.begin(), entries.end(), [](const Entry& x, const Entry& y) {
    return x.used.tv_sec != y.used.tv_sec ? x.used.tv_sec < y.used.tv_sec : x.used.tv_nsec < y.used.tv_nsec;
  });
  for (const Entry& entry : entries) {
    if (bytes <= bytes_) break;
    // Another process may have deleted the file already.
    ::unlink(entry.path.c_str());
    bytes -= entry.bytes;
  }
}

}  // namespace mpmml::cuda
