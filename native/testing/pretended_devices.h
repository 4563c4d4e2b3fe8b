// As many devices as a test wants, on a machine that has fewer.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/session/backend.h"

namespace mpmml {

/// Devices all of which are device 0 of another backend. Little work on them counts as much.
class PretendedDevices final : public Backend {
 public:
  PretendedDevices(std::shared_ptr<Backend> one, int count) : one_(std::move(one)), count_(count) {}

  BackendKind kind() const override { return one_->kind(); }
  const std::vector<const Variant*>& variants() const override { return one_->variants(); }
  std::string unusable(int device) override;
  int device_count() override { return count_; }
  SeveralLimits several_limits() const override;
  std::string refuses(const Problem& problem, const Placement& where) override {
    return one_->refuses(problem, on_device(0, where));
  }
  bool scans_lines(const Problem& problem, const Placement& where) override {
    return one_->scans_lines(problem, on_device(0, where));
  }
  Plan plan(const Problem& problem, const ValueRange& a, const ValueRange& b, const Placement& where) override {
    return one_->plan(problem, a, b, on_device(0, where));
  }
  double estimate_ms(const Problem& problem, int) override { return one_->estimate_ms(problem, 0); }
  bool runs_together(const Problem& problem, const Placement& where) override {
    return one_->runs_together(problem, on_device(0, where));
  }
  ForRuns for_runs(const Problem& problem) override { return one_->for_runs(problem); }
  std::string refuses_user(const UserProduct& product, const Placement& where) override {
    return one_->refuses_user(product, on_device(0, where));
  }
  double estimate_user_ms(const UserProduct& product, int) override { return one_->estimate_user_ms(product, 0); }
  std::vector<Folding> fold(const FoldRequest& request, const Placement& where) override {
    return one_->fold(request, on_device(0, where));
  }
  Interactions interact(const InteractionRequest& request, const Placement& where) override {
    return one_->interact(request, on_device(0, where));
  }
  std::unique_ptr<Session> open(int, int64_t device_memory) override { return one_->open(0, device_memory); }

 private:
  const std::shared_ptr<Backend> one_;
  const int count_;
};

}  // namespace mpmml
