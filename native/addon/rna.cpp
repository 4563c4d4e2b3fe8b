#include "addon/rna.h"

#include <algorithm>

#include "addon/background.h"
#include "addon/fields.h"
#include "addon/request.h"
#include "cpu/rna.h"

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
  FoldWork(const Napi::CallbackInfo& info, FoldRequest request)
      : Work(cancel_of(info[2])), request_(std::move(request)), arguments_(keep(info)) {}

 protected:
  void start() override { results_ = cpu::fold(request_); }

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
  const FoldRequest request_;
  const Napi::ObjectReference arguments_;
  std::vector<Folding> results_;
};

class InteractWork : public Work {
 public:
  InteractWork(const Napi::CallbackInfo& info, InteractionRequest request)
      : Work(cancel_of(info[2])), request_(std::move(request)), arguments_(keep(info)) {}

 protected:
  void start() override { result_ = cpu::interact(request_); }

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
  return run_in_background(info.Env(), std::make_unique<FoldWork>(info, std::move(request)));
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
  return run_in_background(info.Env(), std::make_unique<InteractWork>(info, std::move(request)));
}

}  // namespace

void export_rna(Napi::Env env, Napi::Object exports) {
  exports.Set("rnaFold", Napi::Function::New<guarded<rna_fold>>(env, "rnaFold"));
  exports.Set("rnaInteract", Napi::Function::New<guarded<rna_interact>>(env, "rnaInteract"));
}

}  // namespace mpmml::addon
