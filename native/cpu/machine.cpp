#include "cpu/machine.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <thread>

#include "core/host/control_groups.h"
#include "core/host/has_threads.h"
#include "core/status.h"
#include "cpu/processor.h"
#include "generated/instruction_sets.h"

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <unistd.h>
#endif
#if defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace mpmml::cpu {
namespace {

/// Joins words to "'a', 'b' or 'c'".
std::string choices(const std::vector<std::string>& words) {
  std::string all;
  for (size_t index = 0; index < words.size(); ++index) {
    all += (index == 0 ? "'" : index + 1 == words.size() ? " or '" : ", '") + words[index] + "'";
  }
  return all;
}

/// Returns the settings of the process: those that the first caller passed.
const Settings& fixed_settings(const Settings& given) {
  static const auto* const settings = new Settings(given);
  return *settings;
}

/// Throws Error(kOption) if the settings are wrong.
const Settings& settings() {
  const Settings& fixed = fixed_settings({});
  if (fixed.wrong.empty()) return fixed;
  throw Error(ErrorCode::kOption, fixed.wrong);
}

/// Parses a size such as "48K", "2M" or "512" and returns it in bytes. Returns 0 for other text.
int64_t parse_size(const std::string& text) {
  char* end = nullptr;
  const int64_t number = std::strtoll(text.c_str(), &end, 10);
  return number * (*end == 'K' ? 1 << 10 : *end == 'M' ? 1 << 20 : 1);
}

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

int64_t cache_size(int level) {
#if defined(_SC_LEVEL1_DCACHE_SIZE)
  const int64_t bytes = sysconf(level == 1 ? _SC_LEVEL1_DCACHE_SIZE : _SC_LEVEL2_CACHE_SIZE);
  if (bytes > 0) return bytes;
#elif defined(__APPLE__)
  int64_t bytes = 0;
  size_t size = sizeof bytes;
  if (sysctlbyname(level == 1 ? "hw.l1dcachesize" : "hw.l2cachesize", &bytes, &size, nullptr, 0) == 0) return bytes;
#endif
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    if (first_line(folder + "level") == std::to_string(level) && first_line(folder + "type") != "Instruction") {
      return parse_size(first_line(folder + "size"));
    }
  }
  return 0;
}

#if defined(__linux__)
/// The number of processors that a quota of `quota` microseconds in each `period` amounts to.
double quota_of(const std::string& quota, const std::string& period) {
  const double microseconds = std::atof(quota.c_str());
  const double each = std::atof(period.c_str());
  return microseconds > 0 && each > 0 ? microseconds / each : 1e9;
}

/// The smallest quota of the control groups of this process.
double cgroup_quota() {
  double least = 1e9;
  for_each_control_group("cpu", [&](const std::string& folder, bool is_unified) {
    if (!is_unified) {
      least = std::min(least,
                       quota_of(first_line(folder + "/cpu.cfs_quota_us"), first_line(folder + "/cpu.cfs_period_us")));
      return;
    }
    std::istringstream words(first_line(folder + "/cpu.max"));
    std::string quota, period;
    if (words >> quota >> period) least = std::min(least, quota_of(quota, period));
  });
  return least;
}

int processors_allowed() {
  for (int size = CPU_SETSIZE; size <= 1 << 20; size *= 2) {
    cpu_set_t* set = CPU_ALLOC(size);
    if (!set) break;
    const size_t bytes = CPU_ALLOC_SIZE(size);
    const int count = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (count > 0) return count;
  }
  return static_cast<int>(std::thread::hardware_concurrency());
}
#endif

}  // namespace

void configure(const Settings& settings) { fixed_settings(settings); }

std::vector<std::string> supported_instruction_sets() {
  std::vector<std::string> names;
  for (const std::string& name : processor_instruction_sets()) {
    if (std::find(std::begin(kInstructionSets), std::end(kInstructionSets), name) != std::end(kInstructionSets)) {
      names.push_back(name);
    }
  }
  return names;
}

std::string chosen_instruction_set() {
  const std::vector<std::string> supported = supported_instruction_sets();
  const std::string& asked = settings().instruction_set;
  if (asked.empty()) return supported.front();
  if (std::find(supported.begin(), supported.end(), asked) != supported.end()) return asked;
  throw Error(ErrorCode::kOption, "the environment variable MPMML_CPU_ISA must be " + choices(supported) +
                                      ", which this processor and this build have, but it is '" + asked + "'");
}

std::string processor_model() {
#if defined(__APPLE__)
  char name[256] = "";
  size_t size = sizeof name;
  sysctlbyname("machdep.cpu.brand_string", name, &size, nullptr, 0);
  return name;
#else
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
#endif
}

const Caches& caches() {
  static const Caches sizes = [] {
    const int64_t level1 = cache_size(1);
    const int64_t level2 = cache_size(2);
    return Caches{level1 > 0 ? level1 : 32 << 10, level2 > 0 ? level2 : 256 << 10};
  }();
  return sizes;
}

int available_threads() {
  if (!kHasThreads) return 1;
  if (const int asked = settings().threads; asked > 0) return std::min(asked, kMaxThreads);
#if defined(__linux__)
  // The quota is rounded up, because rounding down would leave a fraction of a processor unused.
  const double quota = cgroup_quota() + 0.999;
  const int count = static_cast<int>(std::min<double>(processors_allowed(), quota));
#else
  const int count = static_cast<int>(std::thread::hardware_concurrency());
#endif
  return std::min(std::max(count, 1), kMaxThreads);
}

}  // namespace mpmml::cpu
