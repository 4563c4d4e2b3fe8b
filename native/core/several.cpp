// Products that several devices compute together.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <string>
#include <thread>
#include <utility>

#include "core/destination.h"
#include "core/dispatch.h"
#include "core/execute.h"
#include "core/overflow.h"
#include "core/parts.h"
#include "core/scan.h"
#include "core/spread.h"
#include "core/status.h"
#include "core/structured.h"

namespace mpmml {
namespace {

std::string name_of(BackendKind backend, int device) {
  return (backend == BackendKind::kCuda ? "CUDA device " : "device ") + std::to_string(device);
}

/// An error of a device of several, which says which.
Error of_device(BackendKind backend, int device, const Error& error) {
  return Error(error.code(), name_of(backend, device) + " failed, so the whole product did: " + error.what(),
               error.product());
}

/// Whether the product would fail in the same way on any device.
bool is_of_values(ErrorCode code) { return code == ErrorCode::kValue || code == ErrorCode::kVariant; }

/// What parts that have run at the same time took.
void join(Timing& all, const Timing& part) {
  all.kernel = std::max(all.kernel, part.kernel);
  all.analysis = std::max(all.analysis, part.analysis);
  all.h2d = std::max(all.h2d, part.h2d);
  all.d2h = std::max(all.d2h, part.d2h);
}

DeviceSet set_of(const std::vector<int>& devices) {
  DeviceSet set = 0;
  for (const int device : devices) set |= DeviceSet{1} << device;
  return set;
}

}  // namespace

Backend& Engine::several_backend() {
  const bool is_cuda = pretended_ == 0 || cuda_unusable(0).empty();
  return is_cuda && cuda_ ? *cuda_ : *cpu_;
}

std::vector<int> Engine::devices_of(DeviceSet devices, BackendChoice choice) {
  std::vector<int> found;
  if (pretended_ > 0) {
    for (int device = 0; device < kMostDevices; ++device) {
      if (!((devices >> device) & 1)) continue;
      if (device < pretended_) {
        found.push_back(device);
      } else if (devices != kAllDevices) {
        throw cuda_error("there is no device " + std::to_string(device) + ": this machine has " +
                         std::to_string(pretended_) + ", numbered from 0");
      }
    }
    return found;
  }
  if (devices != kAllDevices) {
    for (int device = 0; device < kMostDevices; ++device) {
      if (!((devices >> device) & 1)) continue;
      const std::string unusable = cuda_unusable(device);
      if (!unusable.empty()) throw cuda_error(unusable);
      found.push_back(device);
    }
    return found;
  }
  const int count = cuda_ ? std::min(cuda_->device_count(), kMostDevices) : 0;
  for (int device = 0; device < count; ++device) {
    if (cuda_unusable(device).empty()) found.push_back(device);
  }
  if (found.empty() && choice == BackendChoice::kCuda) throw cuda_error(cuda_unusable(0));
  return found;
}

Request Engine::for_one(const Request& request, const std::vector<int>& devices) const {
  Request one = request;
  one.devices = 0;
  if (!devices.empty()) one.where.device = physical(devices.front());
  return one;
}

Engine::Division Engine::divide_among(const Problem& problem, const std::vector<int>& devices) {
  Backend& backend = several_backend();
  std::vector<std::pair<double, int>> by_time;
  for (const int device : devices) by_time.emplace_back(backend.estimate_ms(problem, physical(device)), device);
  std::stable_sort(by_time.begin(), by_time.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  Division best;
  double least = std::numeric_limits<double>::infinity();
  for (size_t count = 1; count <= by_time.size(); ++count) {
    // Those that are tried must all be there if somebody tests with small products.
    if (pretended_ > 0 && count < by_time.size()) continue;
    Division division;
    std::vector<double> estimated;
    for (size_t index = 0; index < count; ++index) {
      division.devices.push_back(by_time[index].second);
      estimated.push_back(1 / by_time[index].first);
    }
    division.slices = divide(problem, speeds_.of(problem.operation, division.devices, estimated));
    // To start threads, to share an operand, and to wait for the last part (estimated).
    constexpr double kTogetherMs = 0.3;
    double time = 0;
    for (size_t index = 0; index < count; ++index) {
      if (division.slices[index].count == 0) continue;
      const Problem part = cut(problem, division.slices[index]);
      time = std::max(time, backend.estimate_ms(part, physical(division.devices[index])));
    }
    if (count > 1) time += kTogetherMs;
    if (time >= least) continue;
    least = time;
    best = std::move(division);
  }
  for (size_t index = best.slices.size(); index-- > 0;) {
    if (best.slices[index].count > 0) continue;
    best.slices.erase(best.slices.begin() + static_cast<std::ptrdiff_t>(index));
    best.devices.erase(best.devices.begin() + static_cast<std::ptrdiff_t>(index));
  }
  return best;
}

Outcome Engine::compute_parts(const Problem& problem, const Placement& where, const Division& division, bool shares) {
  const size_t count = division.slices.size();
  Backend& backend = several_backend();
  // Without GPUs it is for tests that devices are pretended. The CPU writes to C as it goes.
  const bool is_cpu = backend.kind() == BackendKind::kCpu;
  const Destination destination(problem, is_cpu && can_overflow(problem.operation));
  Problem target = problem;
  target.c = destination.view();
  std::atomic<int32_t> stopped{0};
  target.cancelled = &stopped;

  std::vector<int> devices;
  for (const int device : division.devices) devices.push_back(physical(device));
  std::vector<Problem> parts;
  for (const Slice& slice : division.slices) parts.push_back(cut(target, slice));
  const bool may_share = shares && division.slices.front().axis == Axis::kRows && problem.batch == 1;
  const std::unique_ptr<SharedOperand> shared = may_share ? backend.share_b(parts, devices) : nullptr;
  Agreement agreement(count);
  std::vector<Outcome> outcomes(count);
  std::vector<std::exception_ptr> failures(count);
  std::vector<size_t> order;  // of failures
  std::mutex order_mutex;
  const auto compute_part = [&](size_t index) {
    const Problem& part = parts[index];
    bool failed = true;
    try {
      PartOfProduct self(index, agreement, shared.get());
      Placement place = where;
      place.device = devices[index];
      place.part = &self;
      if (division.slices[index].axis != Axis::kInstances) {
        place.whole_m = problem.m();
        place.whole_n = problem.n();
      }
      Outcome& outcome = outcomes[index];
      try {
        outcome = run(backend, part, place);
        failed = outcome.overflow.has_value();
        if (!failed) self.before_writing(part);
      } catch (const OverflowError& error) {
        const OverflowError::Place& at = error.place();
        outcome.overflow = (std::max<int64_t>(at.item, 0) * part.m() + at.row) * part.n() + at.col;
      }
    } catch (const Error& error) {
      failures[index] = std::current_exception();
      // Others may still find a result that overflows and comes before.
      if (!is_of_values(error.code()) && error.code() != ErrorCode::kAborted) stopped = 1;
    } catch (...) {
      failures[index] = std::current_exception();
      stopped = 1;
    }
    if (failures[index]) {
      const std::lock_guard<std::mutex> lock(order_mutex);
      order.push_back(index);
    }
    if (failed) agreement.fail();
    if (shared) shared->leave(index);
  };
  on_threads(
      count, compute_part,
      [&] {
        if (problem.is_cancelled()) stopped = 1;
      },
      [&] {
        stopped = 1;
        agreement.fail();
      });

  if (problem.is_cancelled()) throw given_up();
  if (shared && shared->is_refused()) return compute_parts(problem, where, division, false);
  std::exception_ptr given_up_by_others;
  // What failed first may be why the others did.
  for (const size_t index : order) {
    try {
      std::rethrow_exception(failures[index]);
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kAborted) {
        given_up_by_others = failures[index];
        continue;
      }
      if (error.code() == ErrorCode::kValue) {
        // The part has other indices.
        require_elements(problem.operation, problem.a, problem.batch, "a");
        require_elements(problem.operation, problem.b, problem.batch, "b");
      }
      if (is_of_values(error.code())) throw;
      throw of_device(backend.kind(), division.devices[index], error);
    }
  }
  Outcome all;
  for (size_t index = 0; index < count; ++index) {
    const Outcome& part = outcomes[index];
    if (part.overflow) {
      const int64_t place = index_in_whole(problem, division.slices[index], *part.overflow);
      all.overflow = std::min(all.overflow.value_or(place), place);
    }
    if (!all.plan.variant || part.plan.path > all.plan.path) all.plan = part.plan;
    join(all.timing, part.timing);
  }
  if (all.overflow) return all;
  if (given_up_by_others) std::rethrow_exception(given_up_by_others);
  destination.commit();
  std::vector<double> speeds;
  for (size_t index = 0; index < count; ++index) {
    const double kernel = outcomes[index].timing.kernel;
    constexpr double kLongEnoughMs = 2;
    if (kernel < kLongEnoughMs) return all;
    speeds.push_back(steps_of(cut(problem, division.slices[index])) / kernel);
  }
  speeds_.measured(problem.operation, division.devices, speeds);
  return all;
}

Result Engine::execute_on_several(const Problem& problem, const Request& request) {
  if (request.where.variant && request.where.variant->backend == BackendKind::kCpu && pretended_ == 0) {
    throw Error(ErrorCode::kVariant, "variant " + std::string(request.where.variant->name) +
                                         " is the CPU's, but `devices` are GPUs: leave one of them out");
  }
  const std::vector<int> devices = devices_of(request.devices, request.backend);
  const Request one = for_one(request, devices);
  if (devices.empty() || !has_steps(problem) || request.plan_only) return execute(problem, one);
  const Placement& where = request.where;
  if (where.variant) check_requested(problem.operation, *where.variant);
  if (pretended_ == 0 && choose(problem, one).backend == BackendKind::kCpu) return execute(problem, one);
  const Division division = divide_among(problem, devices);
  if (division.devices.size() < 2) return execute(problem, for_one(request, division.devices));
  require_elements_of_c0(problem);
  clear_outside(problem);
  // Not a timed mutex: it needs a newer glibc than the published addons may.
  std::unique_lock<std::mutex> lock(several_mutex_, std::defer_lock);
  constexpr std::chrono::milliseconds kPatience{1};
  while (!lock.try_lock()) {
    if (problem.is_cancelled()) throw given_up();
    std::this_thread::sleep_for(kPatience);
  }
  Result result{several_backend().kind(), {}, division.devices.front(), set_of(division.devices)};
  Placement same = where;
  // The order of sums, and so their last bits, may differ from variant to variant.
  if (!is_idempotent(problem.operation) && !same.variant) {
    same.device = one.where.device;
    same.variant = several_backend().plan(problem, {}, {}, same).variant;
  }
  result.outcome = compute_parts(problem, same, division);
  if (result.outcome.overflow) throw overflow_error(problem, *result.outcome.overflow);
  return result;
}

std::vector<Result> Engine::execute_on_several(const std::vector<Problem>& problems, const Request& request) {
  const std::vector<int> devices = devices_of(request.devices, request.backend);
  const Request one = for_one(request, devices);
  if (devices.size() < 2 || problems.size() < 2) {
    if (devices.size() < 2) return execute(problems, one);
    return {execute_on_several(problems.front(), request)};
  }
  if (problems.size() < devices.size()) {
    std::vector<Result> results;
    for (size_t index = 0; index < problems.size(); ++index) {
      try {
        results.push_back(execute_on_several(problems[index], request));
      } catch (const Error& error) {
        throw Error(error.code(), error.what(), index);
      }
    }
    return results;
  }

  // Runs of neighbours, so that small products still go to a GPU together. Each device takes the next run when it is done
  // with one: so unequal devices get unequal shares.
  struct Run {
    size_t first, end;
  };
  constexpr size_t kRunsPerDevice = 4;
  constexpr double kStepsOfAny = 1e6;
  double all = 0;
  for (const Problem& problem : problems) all += steps_of(problem) + kStepsOfAny;
  const double enough = all / static_cast<double>(kRunsPerDevice * devices.size());
  std::vector<Run> runs;
  double steps = 0;
  for (size_t index = 0, first = 0; index < problems.size(); ++index) {
    steps += steps_of(problems[index]) + kStepsOfAny;
    if (steps < enough && index + 1 < problems.size()) continue;
    runs.push_back({first, index + 1});
    first = index + 1;
    steps = 0;
  }
  const size_t count = std::min(devices.size(), runs.size());
  std::atomic<int32_t> stopped{0};
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::exception_ptr failure;
  size_t failed_product = problems.size();
  std::vector<Result> results(problems.size());
  const auto compute_runs = [&](size_t place) {
    Request request_of_device = one;
    request_of_device.where.device = physical(devices[place]);
    for (;;) {
      // All runs before one that fails have been taken by then, and end: so the first failure is the one that counts.
      const size_t index = next++;
      if (index >= runs.size() || stopped) return;
      const Run& run = runs[index];
      std::vector<Problem> products(problems.begin() + static_cast<std::ptrdiff_t>(run.first),
                                    problems.begin() + static_cast<std::ptrdiff_t>(run.end));
      size_t failed = run.first;
      std::exception_ptr why;
      try {
        std::vector<Result> found = execute(products, request_of_device);
        for (size_t at = 0; at < found.size(); ++at) {
          if (found[at].backend == BackendKind::kCuda) found[at].device = devices[place];
          results[run.first + at] = std::move(found[at]);
        }
      } catch (const Error& error) {
        failed += error.product().value_or(0);
        const bool is_of_device = error.code() == ErrorCode::kCuda || error.code() == ErrorCode::kOutOfMemory;
        const Error named = is_of_device ? of_device(several_backend().kind(), devices[place], error) : error;
        why = std::make_exception_ptr(Error(named.code(), named.what(), failed));
      } catch (...) {
        why = std::current_exception();
      }
      if (!why) continue;
      stopped = 1;
      const std::lock_guard<std::mutex> lock(mutex);
      if (failed < failed_product) {
        failed_product = failed;
        failure = why;
      }
    }
  };
  on_threads(count, compute_runs, [] {}, [&] { stopped = 1; });
  if (failure) std::rethrow_exception(failure);
  return results;
}

std::unique_ptr<Session> Engine::open(BackendChoice choice, DeviceSet devices, int64_t device_memory) {
  const std::vector<int> numbers = devices_of(devices, choice);
  if (numbers.empty()) return open(choice, 0, device_memory);
  if (numbers.size() == 1 && pretended_ == 0) return open(BackendChoice::kCuda, numbers.front(), device_memory);
  Backend& backend = several_backend();
  // A product of this size shows how fast devices are.
  constexpr int64_t kSize = 8192;
  Problem sample;
  sample.a = sample.b = row_major<const void*>(nullptr, kSize, kSize);
  SpreadDevices spread;
  for (const int number : numbers) {
    spread.sessions.push_back(backend.open(physical(number), device_memory));
    spread.numbers.push_back(number);
    spread.speeds.push_back(1 / backend.estimate_ms(sample, physical(number)));
  }
  // To ask several devices for something takes longer than one needs for less (estimated).
  constexpr int64_t kLeastBytes = int64_t{1} << 20;
  spread.least_bytes = pretended_ > 0 ? 0 : kLeastBytes;
  // One H200 closes 2048 nodes in 3.2 ms, as two do, and four in 3.9 ms. Four close 32768 nodes in 357 ms with a session
  // ahead, and in 383 ms without one; 16384 nodes in 75 and 77 ms; but 8192 nodes in 22 and 20 ms.
  constexpr int64_t kLeastNodes = 2049;
  constexpr double kStepsWorthAhead = 1.5e10;
  // Tests pretend: few nodes are as many.
  constexpr int64_t kLeastPretended = 4;
  constexpr double kPretendedAhead = 1e6;
  spread.least_nodes = pretended_ > 0 ? kLeastPretended : kLeastNodes;
  spread.steps_worth_ahead = pretended_ > 0 ? kPretendedAhead : kStepsWorthAhead;
  spread.multiply = [this](Session& session, const std::vector<Problem>& problem, const Placement& where) {
    if (session.backend() == BackendKind::kCuda) return session.multiply(problem, where);
    const auto run = [&] { return session.multiply(problem, where)->finish().front(); };
    return std::unique_ptr<Pending>(
        std::make_unique<Done>(std::vector<Outcome>{compute(*cpu_, problem.front(), where, run)}));
  };
  return spread_over(std::move(spread));
}

}  // namespace mpmml
