#include "addon/rna.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "addon/background.h"
#include "addon/engine.h"
#include "addon/fields.h"
#include "addon/request.h"
#include "core/rna.h"
#include "core/status.h"
#include "cpu/rna.h"
#if defined(MPMML_WITH_CUDA)
#include "cuda/device/device.h"
#include "cuda/runtime/rna.h"
#endif

namespace mpmml::addon {
namespace {

constexpr double kMostBases = 1 << 20;

Strand strand_in(const Napi::Value& value) {
  const auto* const bases = static_cast<const uint8_t*>(elements_of(value, napi_uint8_array, 0));
  Strand strand(bases, bases + value.As<Napi::Uint8Array>().ElementLength());
  if (strand.size() <= kMostBases && std::all_of(strand.begin(), strand.end(), [](uint8_t base) { return base < 4; })) {
    return strand;
  }
  throw Napi::TypeError::New(value.Env(), "mpmml addon: malformed request: a strand");
}

PairScores scores_in(const Fields& fields) {
  const auto score = [&](const char* name) { return fields.integer<int32_t>(name, 0, 1 << 29); };
  return {score("gc"), score("au"), score("gu")};
}

double most_bytes_in(const Fields& fields) { return fields.number("mostBytes", 0, 1e18); }

/// Where to compute.
struct Where {
  BackendChoice backend;
  int device;
  double device_memory;  ///< 0: there is no limit
  double* report;
};

Where where_in(const Napi::CallbackInfo& info, const Fields& fields) {
  return {fields.integer<BackendChoice>("backend", 0, std::size(kBackendChoiceNames) - 1), fields.device(),
          fields.number("deviceMemory", 0, 1e18),
          static_cast<double*>(elements_of(info[1], napi_float64_array, ReportField::count))};
}

/// With fewer steps of the recurrence one processor is done before a GPU has begun.
constexpr double kWorthCuda = 1e9;

/// Where the work would be done.
Place place_of(const Where& where, double steps) noexcept {
  try {
    const bool may_be =
        where.backend == BackendChoice::kCuda || (where.backend == BackendChoice::kAuto && steps > kWorthCuda);
    return may_be && engine().cuda_unusable(where.device).empty() ? Place::kDevice : Place::kProcessor;
  } catch (...) {
    return Place::kProcessor;  // The work says what is wrong.
  }
}

/// Calls `on_cuda` or `on_cpu`, and reports which. On its own it takes the GPU for much work that fits the GPU's memory.
template <class OnCuda, class OnCpu>
auto compute(const Where& where, double steps, OnCuda on_cuda, OnCpu on_cpu) {
  const auto report = [&](BackendKind backend, int device) {
    where.report[ReportField::backend] = static_cast<double>(backend);
    where.report[ReportField::device] = device;
  };
  const bool demanded = where.backend == BackendChoice::kCuda;
  if (demanded || (where.backend == BackendChoice::kAuto && steps > kWorthCuda)) {
    const std::string reason = engine().cuda_unusable(where.device);
    if (demanded && !reason.empty()) throw Error(ErrorCode::kNoCuda, "the cuda backend can't be used: " + reason);
    if (reason.empty()) {
      try {
        auto result = on_cuda();
        report(BackendKind::kCuda, where.device);
        return result;
      } catch (const Error& error) {
        if (demanded || error.code() != ErrorCode::kOutOfMemory) throw;
      }
    }
  }
  report(BackendKind::kCpu, -1);
  return on_cpu();
}

Watch watch_in(const Napi::CallbackInfo& info) {
  auto* const report = static_cast<double*>(elements_of(info[1], napi_float64_array, ReportField::count));
  return {cancel_of(info[2]), steps_done_in(report)};
}

Napi::Value numbers(Napi::Env env, const std::vector<int32_t>& values) {
  Napi::Int32Array array = Napi::Int32Array::New(env, values.size());
  std::copy(values.begin(), values.end(), array.Data());
  return array;
}

/// i and j of each pair, one after the other.
Napi::Value indices(Napi::Env env, const std::vector<BasePair>& pairs) {
  Napi::Int32Array array = Napi::Int32Array::New(env, 2 * pairs.size());
  for (size_t index = 0; index < pairs.size(); ++index) {
    array[2 * index] = pairs[index].i;
    array[2 * index + 1] = pairs[index].j;
  }
  return array;
}

class FoldWork : public Work {
 public:
  FoldWork(const Napi::CallbackInfo& info, const Where& where, FoldRequest request)
      : Work(cancel_of(info[2])), where_(where), request_(std::move(request)), arguments_(keep(info)) {
    for (const Strand& strand : request_.strands) {
      const auto n = static_cast<double>(strand.size());
      steps_ += n * n * n / 6;
    }
  }
  Place place() noexcept override { return place_of(where_, steps_); }

 protected:
  void start() override {
    results_ = compute(where_, steps_, [&] { return fold_on_cuda(); }, [&] { return cpu::fold(request_); });
  }

  Napi::Value result(Napi::Env env) override {
    Napi::Array all = Napi::Array::New(env, results_.size());
    for (uint32_t index = 0; index < results_.size(); ++index) {
      const Folding& folding = results_[index];
      Napi::Object object = Napi::Object::New(env);
      object.Set("score", folding.score);
      object.Set("pairs", indices(env, folding.pairs));
      if (request_.wants_table) object.Set("table", numbers(env, folding.table));
      all.Set(index, object);
    }
    return all;
  }

 private:
  std::vector<Folding> fold_on_cuda() const {
#if defined(MPMML_WITH_CUDA)
    cuda::device_name(where_.device);
    return cuda::fold(request_, where_.device, where_.device_memory);
#else
    return {};
#endif
  }

  const Where where_;
  const FoldRequest request_;
  double steps_ = 0;
  const Napi::ObjectReference arguments_;
  std::vector<Folding> results_;
};

class InteractWork : public Work {
 public:
  InteractWork(const Napi::CallbackInfo& info, const Where& where, InteractionRequest request)
      : Work(cancel_of(info[2])), where_(where), request_(std::move(request)), arguments_(keep(info)) {}
  Place place() noexcept override { return place_of(where_, interaction_steps(request_)); }

 protected:
  void start() override {
    result_ = compute(
        where_, interaction_steps(request_), [&] { return interact_on_cuda(); },
        [&] { return cpu::interact(request_); });
  }

  Napi::Value result(Napi::Env env) override {
    Napi::Array best = Napi::Array::New(env, result_.best.size());
    for (uint32_t index = 0; index < result_.best.size(); ++index) {
      const Interaction& found = result_.best[index];
      Napi::Object object = Napi::Object::New(env);
      object.Set("score", found.score);
      object.Set("alone", found.alone);
      object.Set("start", static_cast<double>(found.start));
      object.Set("within1", indices(env, found.within1));
      object.Set("within2", indices(env, found.within2));
      object.Set("between", indices(env, found.between));
      best.Set(index, object);
    }
    Napi::Object object = Napi::Object::New(env);
    object.Set("best", best);
    object.Set("steps", result_.steps);
    if (request_.wants_table) object.Set("table", numbers(env, result_.table));
    return object;
  }

 private:
  Interactions interact_on_cuda() const {
#if defined(MPMML_WITH_CUDA)
    cuda::device_name(where_.device);
    return cuda::interact(request_, where_.device, where_.device_memory);
#else
    return {};
#endif
  }

  const Where where_;
  const InteractionRequest request_;
  const Napi::ObjectReference arguments_;
  Interactions result_;
};

Napi::Value rna_fold(const Napi::CallbackInfo& info) {
  const Napi::Object object = info[0].As<Napi::Object>();
  const Fields fields(object);
  std::vector<Strand> strands;
  const auto list = object.Get("strands").As<Napi::Array>();
  for (uint32_t index = 0; index < list.Length(); ++index) strands.push_back(strand_in(list.Get(index)));
  FoldRequest request{std::move(strands),
                      scores_in(fields.object("within")),
                      fields.integer<int64_t>("minLoop", 0),
                      object.Get("wide").ToBoolean(),
                      object.Get("wantsTable").ToBoolean(),
                      most_bytes_in(fields),
                      watch_in(info)};
  return run_in_background(info.Env(), std::make_unique<FoldWork>(info, where_in(info, fields), std::move(request)));
}

Napi::Value rna_interact(const Napi::CallbackInfo& info) {
  const Napi::Object object = info[0].As<Napi::Object>();
  const Fields fields(object);
  Strand strand1 = strand_in(object.Get("strand1")), strand2 = strand_in(object.Get("strand2"));
  const auto length1 = static_cast<double>(strand1.size()), length2 = static_cast<double>(strand2.size());
  if (length1 == 0) fields.integer("strand1", 1);
  InteractionRequest request{std::move(strand1),
                             std::move(strand2),
                             scores_in(fields.object("within")),
                             scores_in(fields.object("between")),
                             fields.integer<int64_t>("minLoop", 0),
                             fields.integer<int64_t>("reach", 1, length2),
                             fields.integer<int64_t>("top", 1),
                             object.Get("wide").ToBoolean(),
                             object.Get("wantsTable").ToBoolean(),
                             most_bytes_in(fields),
                             watch_in(info)};
  return run_in_background(info.Env(),
                           std::make_unique<InteractWork>(info, where_in(info, fields), std::move(request)));
}

}  // namespace

void export_rna(Napi::Env env, Napi::Object exports) {
  exports.Set("rnaFold", Napi::Function::New<guarded<rna_fold>>(env, "rnaFold"));
  exports.Set("rnaInteract", Napi::Function::New<guarded<rna_interact>>(env, "rnaInteract"));
}

}  // namespace mpmml::addon
