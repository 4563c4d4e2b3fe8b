// Custom semirings: definitions, single values, and products.
#include "addon/user.h"

#include <cstring>
#include <utility>

#include "addon/computation.h"
#include "addon/products.h"
#include "addon/request.h"
#include "core/host/clock.h"
#include "core/session/user_operands.h"
#include "cpu/user_product.h"
#include "generated/addon.h"

namespace mpmml::addon {
namespace {

using UserSemiringHandle = HandleOf<HandleKind::kUserSemiring, const UserSemiring>;

/// Converts a number to an enumerator. Numbers outside of the table become the value past the last one.
template <class Enum>
Enum enumerator_of(int32_t word, size_t count) {
  return static_cast<Enum>(word >= 0 && static_cast<size_t>(word) < count ? static_cast<size_t>(word) : count);
}

/// Reads the arrays of an element's lanes, of `count` values each. The first call passes `count` = −1.
template <class Pointer>
UserLanes<Pointer> arrays_of(const UserSemiring& semiring, const Napi::Value& value, int64_t& count) {
  const Napi::Env env = value.Env();
  if (!value.IsArray() || value.As<Napi::Array>().Length() != semiring.lane_count())
    malformed(env, "an array of lanes");
  UserLanes<Pointer> arrays{};
  for (uint32_t lane = 0; lane < semiring.lane_count(); ++lane) {
    const TypedArray array = typed_array(value.As<Napi::Array>().Get(lane));
    const bool is_float = semiring.lanes[lane] == UserType::kFloat32;
    const bool fits =
        is_float ? array.type == napi_float32_array : array.type == napi_int32_array || array.type == napi_uint32_array;
    if (!array.valid || !fits) malformed(env, "a lane of another type");
    if (count < 0) count = static_cast<int64_t>(array.length);
    if (count != static_cast<int64_t>(array.length)) malformed(env, "lanes of several lengths");
    arrays[lane] = static_cast<Pointer>(array.data);
  }
  return arrays;
}

/// A product of a call.
struct UserJob {
  UserCall call;
  double* report;
};

UserCall read(const std::shared_ptr<const UserSemiring>& semiring, const Napi::Value& a, const Napi::Value& b,
              const Napi::Value& c, const Napi::Value& c0, const Napi::Value& auxiliary, const double* request,
              Uses* uses) {
  return read_user_call(semiring, user_matrices_of(a, b, c, c0, auxiliary, semiring->lane_count(), uses), request,
                        uses);
}

void compute_one(const UserJob& asked) {
  const auto start = Clock::now();
  const Result result = engine().execute_user(asked.call.product, asked.call.request);
  write_user_report(asked.report, asked.call.product, result, milliseconds_since(start));
}

/// The products of a call.
struct UserProducts {
  std::vector<UserJob> all;
  bool is_group = false;

  void watch(const std::atomic<int32_t>* cancel) {
    for (UserJob& it : all) {
      it.call.product.cancelled = cancel;
      if (all.size() == 1) it.call.product.steps_done = steps_done_in(it.report);
    }
  }

  double steps() const {
    double steps = 0;
    for (const UserJob& it : all) {
      const UserProduct& product = it.call.product;
      steps += product.operations() + static_cast<double>(product.outputs()) * DeviceWork::kStepsPerElement;
    }
    return steps;
  }

  bool is_for_gpu() const {
    return !all.empty() && engine().is_for_gpu(all.front().call.product, all.front().call.request);
  }

  void compute() const {
    for (size_t index = 0; index < all.size(); ++index) {
      of_product(index, [&] { compute_one(all[index]); });
    }
  }

  std::unique_ptr<Pending> start(DeviceWork& work, Session& session) {
    auto started = std::make_unique<WhenAll>(WhenAll::Kind::kProducts);
    for (size_t index = 0; index < all.size(); ++index) {
      of_product(index, [&] {
        UserCall& call = all[index].call;
        make_room(work, call);
        call.request.where.device = session.device();
        started->add(engine().multiply_user(session, call.product, call.request.where));
      });
    }
    return started;
  }

  bool is_short() const { return false; }

  void report(size_t index, const Result& result, double total_ms) const {
    write_user_report(all[index].report, all[index].call.product, result, total_ms);
  }

  /// Returns the memories by product, each as an array of its lanes' memories.
  Napi::Value result(Napi::Env env, Napi::Value made) const {
    std::vector<Napi::Value> memories;
    if (made.IsArray()) {
      const auto array = made.As<Napi::Array>();
      for (uint32_t index = 0; index < array.Length(); ++index) memories.push_back(array.Get(index));
    } else if (!made.IsUndefined()) {
      memories.push_back(made);
    }
    size_t next = 0;
    Napi::Array by_product = Napi::Array::New(env, all.size());
    for (uint32_t index = 0; index < all.size(); ++index) {
      const UserCall& call = all[index].call;
      const size_t count =
          (call.makes_c ? call.product.lane_count() : 0) +
          static_cast<size_t>(std::count(call.creates_auxiliary.begin(), call.creates_auxiliary.end(), true));
      if (count == 0) continue;
      Napi::Array own = Napi::Array::New(env, count);
      for (uint32_t lane = 0; lane < count; ++lane) own.Set(lane, memories[next++]);
      by_product.Set(index, own);
    }
    return is_group ? by_product : by_product.Get(uint32_t{0});
  }

 private:
  static void make_room(DeviceWork& work, UserCall& call) {
    UserProduct& product = call.product;
    const auto make_matrix = [&](DataType dtype) {
      const int64_t bytes = bytes_of_matrices(product.batch, product.m(), product.n(), element_bytes(dtype));
      const int64_t units = product.batch > 1 ? product.batch : product.m();
      Memory& memory = work.make(bytes, dtype, Storage::kElement, units);
      return placed_in(memory, row_major<void*>(nullptr, product.m(), product.n()));
    };
    if (call.makes_c) {
      for (size_t lane = 0; lane < product.lane_count(); ++lane) {
        product.c[lane] = make_matrix(product.dtype(lane));
      }
      product.keeps_c = false;
    }
    for (size_t which = 0; which < kAuxiliaryCount; ++which) {
      if (call.creates_auxiliary[which]) product.*kAuxiliaryResults[which].view = make_matrix(kAuxiliaryType);
    }
  }
};

UserProducts read_one(const std::shared_ptr<const UserSemiring>& semiring, const Napi::Value& a, const Napi::Value& b,
                      const Napi::Value& c, const Napi::Value& c0, const Napi::Value& auxiliary, const double* request,
                      double* report, const std::atomic<int32_t>* cancel, Uses* uses) {
  UserProducts products;
  products.all.push_back({read(semiring, a, b, c, c0, auxiliary, request, uses), report});
  products.watch(cancel);
  return products;
}

UserProducts read_group(const std::shared_ptr<const UserSemiring>& semiring, const Napi::Value& products,
                        const Napi::Value& requests, const Napi::Value& reports, const std::atomic<int32_t>* cancel,
                        Uses* uses) {
  const Napi::Env env = products.Env();
  if (!products.IsArray()) malformed(env, "expected an array of products");
  const auto list = products.As<Napi::Array>();
  const size_t count = list.Length();
  const auto* const fields =
      static_cast<const double*>(elements_of(requests, napi_float64_array, count * UserRequestField::count));
  auto* const report = static_cast<double*>(elements_of(reports, napi_float64_array, count * ReportField::count));
  UserProducts asked;
  asked.is_group = true;
  asked.all.reserve(count);
  for (uint32_t index = 0; index < count; ++index) {
    const Napi::HandleScope scope(env);
    const Napi::Value product = list.Get(index);
    if (!product.IsArray()) malformed(env, "expected the matrices of a product");
    const auto matrices = product.As<Napi::Array>();
    const auto at = [&](uint32_t place) -> Napi::Value { return matrices.Get(place); };
    if (uses) uses->set_product(index);
    asked.all.push_back(
        {read(semiring, at(0), at(1), at(2), at(3), at(4), fields + index * UserRequestField::count, uses),
         report + index * ReportField::count});
  }
  asked.watch(cancel);
  return asked;
}

}  // namespace

TypedArray In::definition_words() const {
  // The limit bounds the size of the input of all later checks.
  const TypedArray array = elements(napi_int32_array);
  if (array.length <= (kMaxUserNodes + 1) * kUserNodeWords) return array;
  throw Error(ErrorCode::kOption, "an expression has more than " + std::to_string(kMaxUserNodes) +
                                      " nodes: write it with fewer operations");
}

std::vector<UserType> In::user_types() const {
  std::vector<UserType> types;
  for (const int32_t word : words<int32_t>()) {
    types.push_back(enumerator_of<UserType>(word, std::size(kUserTypeNames)));
  }
  return types;
}

std::vector<UserNode> In::user_nodes() const {
  const std::vector<int32_t> all = words<int32_t>();
  if (all.size() % kUserNodeWords != 0) refuse();
  std::vector<UserNode> nodes;
  for (auto word = all.begin(); word != all.end(); word += kUserNodeWords) {
    nodes.push_back({enumerator_of<UserOp>(word[0], std::size(kUserOpNames)),
                     enumerator_of<UserType>(word[1], std::size(kUserTypeNames)),
                     {word[2], word[3], word[4]},
                     static_cast<uint32_t>(word[5])});
  }
  return nodes;
}

std::shared_ptr<const UserSemiring> user_semiring_of(const Napi::Value& value) {
  return handle_in<UserSemiringHandle>(value, "expected a semiring").kept;
}

Napi::Value user_semiring(const Napi::CallbackInfo& info, const UserDefinition& definition) {
  auto handle = std::make_unique<UserSemiringHandle>(make_user_semiring(definition));
  return external_of<UserSemiringHandle>(info.Env(), std::move(handle), [](Napi::Env, UserSemiringHandle&) {});
}

UserDescription describe_user_semiring(const std::shared_ptr<const UserSemiring>& semiring) {
  std::vector<std::string> skips;
  if (semiring->skips) {
    for (const auto& condition : {semiring->skips->of_sum, semiring->skips->of_step}) {
      if (condition) skips.push_back(to_text(*condition, "zxy"));
    }
  }
  return {to_text(semiring->plus),
          to_text(semiring->times),
          to_text(semiring->lowered_plus),
          to_text(semiring->lowered_times),
          semiring->key,
          std::move(skips)};
}

void evaluate_user_semiring(const std::shared_ptr<const UserSemiring>& semiring, bool combine, const Napi::Value& x,
                            const Napi::Value& y, const Napi::Value& out) {
  int64_t count = -1;
  const auto of_x = arrays_of<const uint32_t*>(*semiring, x, count);
  const auto of_y = arrays_of<const uint32_t*>(*semiring, y, count);
  const auto of_out = arrays_of<uint32_t*>(*semiring, out, count);
  if (count > 0) cpu::evaluate_user(*semiring, combine, of_x, of_y, of_out, count);
}

Napi::Value multiply_user(const Napi::CallbackInfo& info, const std::shared_ptr<const UserSemiring>& semiring,
                          const Napi::Value& a, const Napi::Value& b, const Napi::Value& c, const Napi::Value& c0,
                          const double* request, double* report, std::atomic<int32_t>* cancel,
                          const std::shared_ptr<Device>& device, const Napi::Value& auxiliary) {
  return run_products(info, device, cancel, [&](Uses* uses) {
    return read_one(semiring, a, b, c, c0, auxiliary, request, report, cancel, uses);
  });
}

Napi::Value multiply_user_sync(const Napi::CallbackInfo& info, const std::shared_ptr<const UserSemiring>& semiring,
                               const Napi::Value& a, const Napi::Value& b, const Napi::Value& c, const Napi::Value& c0,
                               const double* request, double* report, const std::shared_ptr<Device>& device,
                               const Napi::Value& auxiliary) {
  if (!device) {
    compute_one({read(semiring, a, b, c, c0, auxiliary, request, nullptr), report});
    return info.Env().Undefined();
  }
  return run_products_and_wait(info, device, [&](Uses* uses) {
    return read_one(semiring, a, b, c, c0, auxiliary, request, report, nullptr, uses);
  });
}

Napi::Value multiply_user_group(const Napi::CallbackInfo& info, const std::shared_ptr<const UserSemiring>& semiring,
                                const Napi::Value& products, const Napi::Value& requests, const Napi::Value& reports,
                                std::atomic<int32_t>* cancel, const std::shared_ptr<Device>& device) {
  return run_products(info, device, cancel,
                      [&](Uses* uses) { return read_group(semiring, products, requests, reports, cancel, uses); });
}

Napi::Value explain_user(const Napi::CallbackInfo& info, const std::shared_ptr<const UserSemiring>& semiring,
                         const double* request, const std::shared_ptr<Device>& device) {
  UserCall call = read_user_call(semiring, {}, request, nullptr, true);
  if (device) {
    // Only its thread may call the session, so the engine explains the product on the same device instead.
    const Device::Description& open = device->description();
    call.request.backend = only(open.backend);
    call.request.where.device = std::max(open.index, 0);
    call.request.devices = 0;
  }
  return in_background(info, [call = std::move(call)] { return engine().explain_user(call.product, call.request); });
}

}  // namespace mpmml::addon
