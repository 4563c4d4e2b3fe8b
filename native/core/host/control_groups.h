// Linux control groups (cgroups, versions 1 and 2) that limit this process.
#pragma once
#include <fstream>
#include <string>

namespace mpmml {

/// Calls `visit(folder, is_unified)` with each possible folder of the process's groups for `controller`, and of their
/// parent groups, which have limits too. `is_unified` is true for version 2. In a container the path in /proc may be
/// the host's; then the groups mounted at the root are the container's own. A folder need not exist.
template <class Visit>
void for_each_control_group(const std::string& controller, Visit visit) {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const bool is_unified = controllers.empty();
    if (!is_unified && ("," + controllers + ",").find("," + controller + ",") == std::string::npos) continue;
    for (std::string path = line.substr(second + 1);;) {
      const std::string root = "/sys/fs/cgroup";
      visit(is_unified ? root + path : root + "/" + controller + path, is_unified);
      if (is_unified || controllers != controller) {
        visit(root + (is_unified ? "/unified" : "/" + controllers) + path, is_unified);
      }
      if (path.empty() || path == "/") break;
      path.resize(path.rfind('/'));
    }
  }
}

}  // namespace mpmml
