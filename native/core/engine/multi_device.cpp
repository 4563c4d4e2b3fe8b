// Products that multiple devices compute together.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "core/algebra/dispatch.h"
#include "core/devices/partition.h"
#include "core/devices/sharded_product.h"
#include "core/devices/sharding.h"
#include "core/engine/execute.h"
#include "core/host/device_threads.h"
#include "core/problem/scan.h"
#include "core/problem/structured.h"
#include "core/status.h"

namespace mpmml {
namespace {

/// Divides a group into runs of consecutive products, so that small products still go to a GPU together. Each device
/// takes the next run when it is done with one, so faster devices get more.
std::vector<Span> runs_of(const std::vector<Problem>& problems, size_t devices) {
  constexpr size_t kRunsPerDevice = 4;
  constexpr double kStepsOfAny = 1e6;
  double all = 0;
  for (const Problem& problem : problems) all += steps_of(problem) + kStepsOfAny;
  const double enough = all / static_cast<double>(kRunsPerDevice * devices);
  std::vector<Span> runs;
  const auto count = static_cast<int64_t>(problems.size());
  double steps = 0;
  for (int64_t index = 0, first = 0; index < count; ++index) {
    steps += steps_of(problems[static_cast<size_t>(index)]) + kStepsOfAny;
    if (steps < enough && index + 1 < count) continue;
    runs.push_back({first, index + 1});
    first = index + 1;
    steps = 0;
  }
  return runs;
}

}  // namespace

int Engine::device_count() { return backends_.gpu ? std::min(gpu().device_count(), kMaxDevices) : 0; }

std::vector<int> Engine::devices_of(DeviceSet devices, BackendChoice choice) {
  const auto unusable = [&](int device) { return backends_.gpu ? gpu().unusable(device) : backends_.without_gpu; };
  std::vector<int> found;
  const int most = devices == kAllDevices ? device_count() : kMaxDevices;
  for (int device = 0; device < most; ++device) {
    if (!((devices >> device) & 1)) continue;
    const std::string why = unusable(device);
    if (why.empty()) {
      found.push_back(device);
    } else if (devices != kAllDevices) {
      throw gpu_error(why);
    }
  }
  if (found.empty() && choice == only(backends_.gpu_kind)) throw gpu_error(unusable(0));
  return found;
}

Request Engine::for_one(const Request& request, const std::vector<int>& devices) {
  Request one = request;
  one.devices = 0;
  if (!devices.empty()) one.where.device = devices.front();
  return one;
}

Engine::Division Engine::soonest_division(const Problem& problem, const std::vector<std::pair<double, int>>& by_time) {
  Backend& backend = multi_device_backend();
  const MultiDeviceThresholds limits = backend.multi_device_limits();
  Division best;
  double least = std::numeric_limits<double>::infinity();
  for (size_t count = 1; count <= by_time.size(); ++count) {
    if (limits.uses_all && count < by_time.size()) continue;
    Division division;
    std::vector<double> estimated;
    for (size_t index = 0; index < count; ++index) {
      division.devices.push_back(by_time[index].second);
      estimated.push_back(1 / by_time[index].first);
    }
    division.regions = divide(whole(problem), speeds_.of(problem.operation, division.devices, estimated));
    // Overhead in ms of starting threads, broadcasting an operand, and waiting for the last part (estimated).
    constexpr double kTogetherMs = 0.3;
    double time = 0;
    for (size_t index = 0; index < count; ++index) {
      if (division.regions[index].is_empty()) continue;
      const Problem part = sub(problem, division.regions[index]);
      time = std::max(time, backend.estimate_ms(part, division.devices[index]));
    }
    if (count > 1) time += kTogetherMs;
    if (time >= least) continue;
    least = time;
    best = std::move(division);
  }
  for (size_t index = best.regions.size(); index-- > 0;) {
    if (!best.regions[index].is_empty()) continue;
    best.regions.erase(best.regions.begin() + static_cast<std::ptrdiff_t>(index));
    best.devices.erase(best.devices.begin() + static_cast<std::ptrdiff_t>(index));
  }
  return best;
}

Engine::Division Engine::divide_among(const Problem& problem, const std::vector<int>& devices, const Placement& where,
                                      std::string& refused) {
  Backend& backend = multi_device_backend();
  std::vector<std::pair<double, int>> by_time;
  for (const int device : devices) by_time.emplace_back(backend.estimate_ms(problem, device), device);
  std::stable_sort(by_time.begin(), by_time.end(), [](const auto& x, const auto& y) { return x.first < y.first; });
  while (!by_time.empty()) {
    Division division = soonest_division(problem, by_time);
    const size_t before = by_time.size();
    for (size_t index = 0; index < division.regions.size(); ++index) {
      const Region& region = division.regions[index];
      const int device = division.devices[index];
      const std::string why =
          backend.refuses(sub(problem, region), on_device(device, for_part(problem, region, where)));
      if (why.empty()) continue;
      refused = why;
      by_time.erase(
          std::find_if(by_time.begin(), by_time.end(), [&](const auto& other) { return other.second == device; }));
    }
    if (by_time.size() == before) return division;
  }
  return {};
}

Outcome Engine::compute_parts(const Problem& problem, const Placement& where, const Division& division) {
  std::vector<SessionPool::Lease> loans;
  ShardedDevices devices;
  for (const int device : division.devices) {
    try {
      loans.push_back(take_session(multi_device_backend(), on_device(device, where)));
    } catch (const Error& error) {
      throw of_device(multi_device_backend().kind(), device, error);
    }
    devices.sessions.push_back(loans.back().session());
  }
  devices.numbers = division.devices;
  PeerTransfers peers(std::move(devices));
  Outcome outcome;
  std::vector<double> times;
  for (const Outcome& part : mpmml::multiply(peers, problem, division.regions, where)) {
    outcome.take_plan(part.plan);
    outcome.timing.overlap(part.timing);
    times.push_back(part.timing.kernel);
  }
  update_device_throughput(problem, division, times);
  return outcome;
}

void Engine::update_device_throughput(const Problem& problem, const Division& division,
                                      const std::vector<double>& times) {
  std::vector<double> speeds;
  for (size_t index = 0; index < times.size(); ++index) {
    constexpr double kLongEnoughMs = 2;
    if (times[index] < kLongEnoughMs) return;
    speeds.push_back(steps_of(sub(problem, division.regions[index])) / times[index]);
  }
  speeds_.measured(problem.operation, division.devices, speeds);
}

std::optional<Engine::Shared> Engine::share(const Problem& problem, const Request& request, Request& alone) {
  const bool are_processor = backends_.gpu && !has_gpu();
  if (request.where.variant && request.where.variant->backend == processor().kind() && !are_processor) {
    throw Error(ErrorCode::kVariant, "variant " + std::string(request.where.variant->name) +
                                         " is the CPU's, but `devices` are GPUs: leave one of them out");
  }
  const std::vector<int> devices = devices_of(request.devices, request.backend);
  alone = for_one(request, devices);
  if (devices.empty() || !problem.has_steps()) return std::nullopt;
  Placement where = request.where;
  if (where.variant) check_requested(problem.operation, *where.variant);
  const bool uses_all = multi_device_backend().multi_device_limits().uses_all;
  if (!uses_all && &prefer(problem, alone) == &processor()) return std::nullopt;
  std::string refused;
  Division division = divide_among(problem, devices, where, refused);
  if (division.devices.empty()) {
    if (is_gpu_demanded(request)) throw Error(ErrorCode::kOutOfMemory, refused);
    alone.backend = only(processor().kind());
    return std::nullopt;
  }
  if (division.devices.size() < 2) {
    alone = for_one(request, division.devices);
    return std::nullopt;
  }
  // The order of sums, and so their last bits, may differ between variants.
  if (adds_floats(problem.operation) && !where.variant) {
    where.device = alone.where.device;
    where.variant = plan(multi_device_backend(), problem, where).variant;
  }
  const Result result{multi_device_backend().kind(), {}, division.devices.front(), set_of(division.devices)};
  return Shared{std::move(division), where, result};
}

Result Engine::plan_on_devices(const Problem& problem, const Request& request) {
  Request alone;
  std::optional<Shared> shared = share(problem, request, alone);
  if (!shared) return plan(problem, alone);
  const auto& [devices, regions] = shared->division;
  std::vector<Plan> plans(regions.size());
  DeviceThreads threads(plans.size());
  threads.run([&, &devices = devices, &regions = regions](size_t index) {
    plans[index] = plan(multi_device_backend(), sub(problem, regions[index]),
                        on_device(devices[index], for_part(problem, regions[index], shared->where)));
  });
  for (const Plan& plan : plans) shared->result.outcome.take_plan(plan);
  return shared->result;
}

std::unique_lock<std::mutex> Engine::await_multi_device(const std::atomic<int32_t>* cancelled) {
  // A timed mutex would need a newer glibc than the published addons require.
  std::unique_lock<std::mutex> lock(multi_device_mutex_, std::defer_lock);
  constexpr std::chrono::milliseconds kPatience{1};
  while (!lock.try_lock()) {
    if (is_set(cancelled)) throw aborted();
    std::this_thread::sleep_for(kPatience);
  }
  return lock;
}

Result Engine::execute_on_devices(const Problem& problem, const Request& request) {
  Request alone;
  std::optional<Shared> shared = share(problem, request, alone);
  if (!shared) return execute(problem, alone);
  require_elements_of_c0(problem);
  clear_outside(problem);
  const std::unique_lock<std::mutex> lock = await_multi_device(problem.cancelled);
  shared->result.outcome = compute_parts(problem, shared->where, shared->division);
  return shared->result;
}

std::vector<Result> Engine::execute_on_devices(const std::vector<Problem>& problems, const Request& request) {
  const std::vector<int> devices = devices_of(request.devices, request.backend);
  const Request one = for_one(request, devices);
  if (devices.size() < 2) return execute(problems, one);
  std::vector<Result> results(problems.size());
  if (problems.size() < devices.size()) {
    for (size_t index = 0; index < problems.size(); ++index) {
      of_product(index, [&] { results[index] = execute_on_devices(problems[index], request); });
    }
    return results;
  }
  const std::vector<Span> runs = runs_of(problems, devices.size());
  std::vector<std::exception_ptr> failures(runs.size());
  std::atomic<size_t> next{0};
  std::atomic<bool> has_failed{false};
  DeviceThreads threads(std::min(devices.size(), runs.size()));
  threads.run([&](size_t place) {
    Request request_of_device = one;
    request_of_device.where.device = devices[place];
    while (!has_failed) {
      // When a run fails, all runs before it have been taken, and end. So the failure with the least index is reported.
      const size_t index = next++;
      if (index >= runs.size()) return;
      const auto first = problems.begin() + runs[index].first, end = problems.begin() + runs[index].end;
      try {
        std::vector<Result> found = execute(std::vector<Problem>(first, end), request_of_device);
        for (Result& result : found) {
          if (result.backend != processor().kind()) result.device = devices[place];
        }
        std::move(found.begin(), found.end(), results.begin() + runs[index].first);
      } catch (const Error& error) {
        const Error named =
            is_of_device(error) ? of_device(multi_device_backend().kind(), devices[place], error) : error;
        const size_t product = static_cast<size_t>(runs[index].first) + error.product().value_or(0);
        failures[index] = std::make_exception_ptr(Error(named.code(), named.what(), product));
        has_failed = true;
      } catch (...) {
        failures[index] = std::current_exception();
        has_failed = true;
      }
    }
  });
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return results;
}

std::unique_ptr<Session> Engine::open(BackendChoice choice, DeviceSet devices, int64_t device_memory) {
  const std::vector<int> numbers = devices_of(devices, choice);
  if (numbers.empty()) return open(choice, 0, device_memory);
  Backend& backend = multi_device_backend();
  const MultiDeviceThresholds limits = backend.multi_device_limits();
  if (numbers.size() == 1 && !limits.uses_all) return backend.open(numbers.front(), device_memory);
  // Size of a product that is representative of the devices' speeds.
  constexpr int64_t kSize = 8192;
  Problem sample;
  sample.a = sample.b = row_major<const void*>(nullptr, kSize, kSize);
  ShardedDevices sharded;
  for (const int number : numbers) {
    sharded.sessions.push_back(backend.open(number, device_memory));
    sharded.numbers.push_back(number);
    sharded.speeds.push_back(1 / backend.estimate_ms(sample, number));
  }
  sharded.limits = limits;
  return open_sharded(std::move(sharded));
}

}  // namespace mpmml
