// Products over custom semirings.
#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "core/engine/execute.h"
#include "core/host/device_threads.h"
#include "core/problem/destination.h"
#include "core/session/logarithms.h"
#include "core/session/product_matrices.h"
#include "core/session/user_operands.h"

namespace mpmml {
namespace {

bool has_whole_c(const UserProduct& product) { return product.structure.c.is_all(product.m(), product.n()); }

/// Computes a product of host matrices whose operands and results fit the device's memory together. All of C is
/// written.
Outcome multiply_at_once(Session& session, const UserProduct& product, const Placement& where) {
  const std::unique_ptr<Share> share = session.reserve_for_user(product);
  KeptMemory kept;
  UserProduct there = with_operands_in(session, product, kept);
  std::vector<MutableMatrixView> made;
  for_results(there, [&](MutableMatrixView& view, DataType) {
    view = made.emplace_back(make_like(session, view, product.batch, kept));
  });
  Outcome outcome = std::move(start_user(session, there, where)->finish().front());
  auto from = made.begin();
  for_results(product, [&](const MutableMatrixView& to, DataType dtype) {
    session.download(dtype, product.batch, read_only(*from++), to, nullptr)->finish();
  });
  return outcome;
}

/// Separate host memory for all results of a product until all are computed.
class SeparateResults {
 public:
  explicit SeparateResults(const UserProduct& product) : there_(product) {
    there_.keeps_c = false;
    for_results(there_, [&](MutableMatrixView& view, DataType dtype) {
      view = destinations_.emplace_back(view, there_.batch, dtype, there_.structure.c).view();
    });
  }

  /// Returns the product with its results in the separate memory.
  const UserProduct& there() const { return there_; }

  void commit() const {
    for (const Destination& destination : destinations_) destination.commit();
  }

 private:
  UserProduct there_;
  std::deque<Destination> destinations_;
};

/// Returns whether a product failed for lack of device memory and its halves may fit.
bool may_fit_in_halves(const UserProduct& product, const Error& error) {
  return error.code() == ErrorCode::kOutOfMemory && product.outputs() > 1;
}

/// Computes a product, and halves it recursively if it doesn't fit the device's memory. All of C is written.
Outcome multiply_in_parts(Session& session, const UserProduct& product, const Placement& where) {
  if (session.is_host()) return std::move(start_user(session, product, where)->finish().front());
  try {
    return multiply_at_once(session, product, where);
  } catch (const Error& error) {
    if (!may_fit_in_halves(product, error)) throw;
  }
  const Region all = whole(product);
  const auto [first, second] = halves(all, longest_axis(all), 1);
  Outcome outcome = multiply_in_parts(session, sub(product, first), where);
  outcome.timing.add(multiply_in_parts(session, sub(product, second), where).timing);
  return outcome;
}

/// Returns whether all of C may be written even if the product fails.
bool may_overwrite(const UserProduct& product) { return has_whole_c(product) && !product.keeps_c; }

/// Computes the product in a session. Writes only the structure of C. A C that must be kept is written only when
/// nothing can fail any more.
Outcome multiply_on(Session& session, const UserProduct& product, const Placement& where) {
  if (session.is_host() || may_overwrite(product)) return multiply_in_parts(session, product, where);
  if (has_whole_c(product) && product.lane_count() == 1 && requested_auxiliary(product) == 0) {
    try {
      return multiply_at_once(session, product, where);
    } catch (const Error& error) {
      if (!may_fit_in_halves(product, error)) throw;
    }
  }
  const SeparateResults separate(product);
  Outcome outcome = multiply_in_parts(session, separate.there(), where);
  separate.commit();
  return outcome;
}

/// Returns at most `devices` parts, one for each device.
std::vector<Region> parts_of(const UserProduct& product, size_t devices) {
  std::vector<Region> regions = divide(whole(product), std::vector<double>(devices, 1));
  regions.erase(std::remove_if(regions.begin(), regions.end(), [](const Region& region) { return region.is_empty(); }),
                regions.end());
  return regions;
}

}  // namespace

Backend& Engine::choose_user(const UserProduct& product, const Request& request, std::string* reason) {
  if (needs_processor(request, reason)) return processor();
  const int device = request.where.device;
  const bool is_demanded = is_gpu_demanded(request);
  const std::string refused = gpu().refuses_user(product, request.where);
  if (!refused.empty() && is_demanded) throw gpu_error(refused);
  const bool is_sooner = refused.empty() && !is_demanded &&
                         processor().estimate_user_ms(product, 0) <= gpu().estimate_user_ms(product, device);
  if (reason) *reason = !refused.empty() ? refused : is_sooner ? kSooner : explain(device).reason;
  return !refused.empty() || is_sooner ? processor() : gpu();
}

bool Engine::is_for_gpu(const UserProduct& product, const Request& request) {
  if (!has_gpu() || is_processor_demanded(request)) return false;
  return request.devices != 0 || &choose_user(product, request) == &gpu();
}

Outcome Engine::execute_user_parts(const UserProduct& product, const Placement& where,
                                   const std::vector<int>& devices) {
  const std::unique_lock<std::mutex> lock = await_multi_device(product.cancelled);
  std::optional<SeparateResults> separate;
  if (!may_overwrite(product)) separate.emplace(product);
  const UserProduct& whole = separate ? separate->there() : product;
  const std::vector<Region> regions = parts_of(product, devices.size());
  std::vector<SessionPool::Lease> loans;
  for (size_t index = 0; index < regions.size(); ++index) {
    loans.push_back(take_session(multi_device_backend(), on_device(devices[index], where)));
  }
  std::vector<Outcome> outcomes(regions.size());
  DeviceThreads(regions.size()).run([&](size_t index) {
    Session& session = *loans[index].session();
    try {
      outcomes[index] = multiply_in_parts(session, sub(whole, regions[index]), on_session(session, where));
    } catch (const Error& error) {
      throw of_device(multi_device_backend().kind(), devices[index], error);
    }
  });
  if (separate) separate->commit();
  Outcome outcome;
  for (const Outcome& part : outcomes) outcome.timing.overlap(part.timing);
  return outcome;
}

Result Engine::execute_user(const UserProduct& product, const Request& request) {
  clear_outside(product);
  Request one = request;
  if (is_multi_device(request)) {
    const std::vector<int> devices = devices_of(request.devices, request.backend);
    one = for_one(request, devices);
    const bool is_refused = !devices.empty() && !multi_device_backend().refuses_user(product, one.where).empty();
    if (devices.size() > 1 && !is_refused && product.outputs() > 0 &&
        std::max(product.m(), product.batch) >= static_cast<int64_t>(devices.size())) {
      return {multi_device_backend().kind(), execute_user_parts(product, request.where, devices), devices.front(),
              set_of(devices)};
    }
  }
  Backend& chosen = choose_user(product, one);
  Result result{chosen.kind(), {}, one.where.device};
  if (product.outputs() == 0) return result;
  const auto compute = [&](Backend& backend) {
    const SessionPool::Lease loan = take_session(backend, one.where);
    Session& session = *loan.session();
    result.backend = backend.kind();
    result.device = session.device();
    result.outcome = multiply_on(session, product, on_session(session, one.where));
  };
  try {
    compute(chosen);
  } catch (const Error& error) {
    const bool may_fall_back = &chosen != &processor() && !is_gpu_demanded(one);
    if (error.code() != ErrorCode::kOutOfMemory || !may_fall_back) throw;
    compute(processor());
  }
  return result;
}

std::string Engine::explain_user(const UserProduct& product, const Request& request) {
  Request one = request;
  if (request.devices != 0) one = for_one(request, devices_of(request.devices, request.backend));
  std::string reason;
  const SessionPool::Lease loan = take_session(choose_user(product, one, &reason), one.where);
  Session& session = *loan.session();
  return explain_user(session, product, on_session(session, one.where)) + "\nbecause " + reason;
}

std::string Engine::explain_user(Session& session, const UserProduct& product, const Placement& where) {
  return mpmml::explain_user(session, product, where);
}

std::unique_ptr<Pending> Engine::multiply_user(Session& session, const UserProduct& product, const Placement& where) {
  clear_outside(session, product);
  if (product.outputs() == 0) return std::make_unique<Done>(std::vector<Outcome>(1));
  // The host reads operands in any memory, and a multi-device session distributes them by itself.
  if (session.is_host() || !session.devices().empty()) return start_user(session, product, where);
  KeptMemory kept;
  std::unique_ptr<Pending> work = start_user(session, with_operands_in(session, product, kept), where);
  auto all = std::make_unique<WhenAll>(WhenAll::Kind::kParts, std::move(kept));
  all->add(std::move(work));
  return all;
}

}  // namespace mpmml
