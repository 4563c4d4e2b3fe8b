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

/// What parts that have run at the same time took.
void join(Timing& all, const Timing& part) {
  all.kernel = std::max(all.kernel, part.kernel);
  all.analysis = std::max(all.analysis, part.analysis);
  all.h2d = std::max(all.h2d, part.h2d);
  all.d2h = std::max(all.d2h, part.d2h);
}

}  // namespace

Error of_device(BackendKind backend, int device, const Error& error) {
  const char* const kind = backend == BackendKind::kCuda ? "CUDA device " : "device ";
  return Error(error.code(), kind + std::to_string(device) + " failed, so the whole product did: " + error.what(),
               error.product());
}

Together::Together(const Problem& problem, std::vector<Part> parts, Backend& backend, const RunPart& run, bool shares)
    : whole_(problem),
      parts_(std::move(parts)),
      backend_(backend),
      run_(run),
      agreement_(parts_.size()),
      outcomes_(parts_.size()) {
  Problem stoppable = whole_;
  stoppable.cancelled = &stopped_;
  std::vector<int> devices;
  for (const Part& part : parts_) {
    problems_.push_back(cut(stoppable, part.slice));
    devices.push_back(part.device);
  }
  const bool may_share = shares && parts_.front().slice.axis == Axis::kRows && whole_.batch == 1;
  if (may_share) shared_ = backend_.share_b(problems_, devices);
}

void Together::compute(const Placement& where) {
  on_threads(
      parts_.size(), [&](size_t index) { compute_part(index, where); },
      [&] {
        if (whole_.is_cancelled()) stopped_ = 1;
      },
      [&](size_t first) {
        stopped_ = 1;
        agreement_.fail();
        for (size_t index = first; shared_ && index < parts_.size(); ++index) shared_->leave(index);
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
  Placement place = place_of(whole_, parts_[index].slice, where, parts_[index].device);
  place.part = &self;
  Outcome& outcome = outcomes_[index];
  try {
    outcome = run_(problem, place);
    if (!outcome.overflow) self.before_writing(problem);
  } catch (const OverflowError& error) {
    const OverflowError::Place& at = error.place();
    outcome.overflow = (std::max<int64_t>(at.item, 0) * problem.m() + at.row) * problem.n() + at.col;
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
      throw of_device(backend_.kind(), parts_[failed_[at]].number, error);
    }
  }
  const Outcome all = joined();
  if (!all.overflow && given_up_by_others) std::rethrow_exception(given_up_by_others);
  return all;
}

Outcome Together::joined() const {
  Outcome all;
  for (size_t index = 0; index < parts_.size(); ++index) {
    const Outcome& part = outcomes_[index];
    if (part.overflow) {
      const int64_t place = index_in_whole(whole_, parts_[index].slice, *part.overflow);
      all.overflow = std::min(all.overflow.value_or(place), place);
    }
    if (!all.plan.variant || part.plan.path > all.plan.path) all.plan = part.plan;
    join(all.timing, part.timing);
  }
  return all;
}

std::vector<double> Together::kernel_times() const {
  std::vector<double> times;
  for (const Outcome& outcome : outcomes_) times.push_back(outcome.timing.kernel);
  return times;
}

}  // namespace mpmml
