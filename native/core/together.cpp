#include "core/together.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/overflow.h"
#include "core/scan.h"

namespace mpmml {
namespace {

/// Whether the product would fail in the same way on any device.
bool is_of_values(ErrorCode code) { return code == ErrorCode::kValue || code == ErrorCode::kVariant; }

}  // namespace

Error of_device(BackendKind backend, int device, const Error& error) {
  const char* const kind = backend == BackendKind::kCuda ? "CUDA device " : "device ";
  return Error(error.code(), kind + std::to_string(device) + " failed, so the whole product did: " + error.what(),
               error.product());
}

Together::Together(const Problem& problem, std::vector<Task> tasks, Backend& backend, bool shares)
    : whole_(problem),
      tasks_(std::move(tasks)),
      backend_(backend),
      agreement_(tasks_.size()),
      outcomes_(tasks_.size()) {
  Problem stoppable = whole_;
  stoppable.cancelled = &stopped_;
  std::vector<int> devices;
  for (const Task& task : tasks_) {
    problems_.push_back(sub(stoppable, task.region));
    devices.push_back(task.device);
  }
  const bool may_share = shares && whole_.batch == 1 && tasks_.front().region.cols == whole(whole_).cols;
  if (may_share) shared_ = backend_.share_b(problems_, devices);
}

void Together::compute(const Placement& where) {
  on_threads(
      tasks_.size(), [&](size_t index) { compute_part(index, where); },
      [&] {
        if (whole_.is_cancelled()) stopped_ = 1;
      },
      [&](size_t first) {
        stopped_ = 1;
        agreement_.fail();
        for (size_t index = first; shared_ && index < tasks_.size(); ++index) shared_->leave(index);
      });
  if (whole_.is_cancelled()) throw given_up();
}

void Together::compute_part(size_t index, const Placement& where) {
  bool succeeded = false;
  try {
    succeeded = run_part(index, where);
  } catch (const Error& error) {
    keep_failure(index);
    // Others may still find a result that overflows and comes before.
    if (!is_of_values(error.code()) && error.code() != ErrorCode::kAborted) stopped_ = 1;
  } catch (...) {
    keep_failure(index);
    stopped_ = 1;
  }
  if (!succeeded) agreement_.fail();
  if (shared_) shared_->leave(index);
}

bool Together::run_part(size_t index, const Placement& where) {
  const Problem& problem = problems_[index];
  PartOfProduct self(index, agreement_, shared_.get());
  Placement place = on_device(tasks_[index].device, for_part(whole_, tasks_[index].region, where));
  place.part = &self;
  Outcome& outcome = outcomes_[index];
  try {
    outcome = backend_.run(problem, place);
    if (!outcome.overflow) self.before_writing(problem);
  } catch (const OverflowError& error) {
    outcome.overflow = error.index();
  }
  return !outcome.overflow;
}

void Together::keep_failure(size_t index) {
  const std::lock_guard<std::mutex> lock(mutex_);
  failures_.push_back(std::current_exception());
  failed_.push_back(index);
}

Outcome Together::outcome() const {
  // Of parts that were given up another one's failure or overflow is the reason.
  std::exception_ptr given_up_by_others;
  for (size_t at = 0; at < failures_.size(); ++at) {
    try {
      std::rethrow_exception(failures_[at]);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kAborted) {
        given_up_by_others = failures_[at];
        continue;
      }
      if (error.code() == ErrorCode::kValue) {
        // The part has other indices.
        require_elements(whole_.operation, whole_.a, whole_.batch, "a", whole_.structure.a);
        require_elements(whole_.operation, whole_.b, whole_.batch, "b", whole_.structure.b);
      }
      if (is_of_values(error.code())) throw;
      throw of_device(backend_.kind(), tasks_[failed_[at]].device, error);
    }
  }
  const Outcome all = joined();
  if (!all.overflow && given_up_by_others) std::rethrow_exception(given_up_by_others);
  return all;
}

Outcome Together::joined() const {
  Outcome all;
  for (size_t index = 0; index < tasks_.size(); ++index) {
    const Outcome& part = outcomes_[index];
    if (part.overflow) {
      all.take_overflow(index_in_whole(tasks_[index].region, whole_.m(), whole_.n(), *part.overflow));
    }
    all.take_plan(part.plan);
    all.timing.overlap(part.timing);
  }
  return all;
}

std::vector<double> Together::kernel_times() const {
  std::vector<double> times;
  for (const Outcome& outcome : outcomes_) times.push_back(outcome.timing.kernel);
  return times;
}

}  // namespace mpmml
