// As many devices as a test wants, on a machine that has fewer.
#pragma once
#include "core/backend.h"

namespace mpmml {

/// Devices all of which are device 0 of another backend. Little work on them counts as much.
class PretendedDevices final : public Backend {
 public:
  PretendedDevices(Backend& one, int count) : one_(one), count_(count) {}

  BackendKind kind() const override { return one_.kind(); }
  const std::vector<const Variant*>& variants() const override { return one_.variants(); }
  std::string unusable(int device) override;
  int device_count() override { return count_; }
  SeveralLimits several_limits() const override;
  std::unique_ptr<SharedOperand> share_b(const std::vector<Problem>& parts, const std::vector<int>& devices) override {
    return one_.share_b(parts, std::vector<int>(devices.size(), 0));
  }
  std::string refuses(const Problem& problem, const Placement& where) override {
    return one_.refuses(problem, on_device(0, where));
  }
  bool scans_lines(const Problem& problem, const Placement& where) override {
    return one_.scans_lines(problem, on_device(0, where));
  }
  Plan plan(const Problem& problem, const ValueRange& a, const ValueRange& b, const Placement& where) override {
    return one_.plan(problem, a, b, on_device(0, where));
  }
  double estimate_ms(const Problem& problem, int) override { return one_.estimate_ms(problem, 0); }
  Outcome run(const Problem& problem, const Placement& where) override {
    return one_.run(problem, on_device(0, where));
  }
  bool runs_together(const Problem& problem, const Placement& where) override {
    return one_.runs_together(problem, on_device(0, where));
  }
  std::vector<Outcome> run_together(const std::vector<Problem>& problems, const Placement& where) override {
    return one_.run_together(problems, on_device(0, where));
  }
  ForRuns for_runs(const Problem& problem) override { return one_.for_runs(problem); }
  std::unique_ptr<Session> open(int, int64_t device_memory) override { return one_.open(0, device_memory); }

 private:
  Backend& one_;
  const int count_;
};

}  // namespace mpmml
