#include "addon/closure.h"

#include <algorithm>

#include "addon/device.h"
#include "addon/request.h"
#include "core/closure.h"
#include "core/dispatch.h"
#include "core/status.h"
#include "core/wide_closure.h"

namespace mpmml::addon {
namespace {

/// What ReportField::gain says if no cycle gains.
constexpr double kNothingGains = -1;

class ClosureWork : public DeviceWork {
 public:
  ClosureWork(const Napi::CallbackInfo& info, Uses uses, const Closing& closing, bool reflexive, bool wants_next,
              double* report, std::atomic<int32_t>* cancel)
      : DeviceWork(std::move(uses), cancel),
        closing_(closing),
        wants_next_(wants_next),
        report_(report),
        arguments_(keep(info)) {
    closure_.operation = closing.operation;
    closure_.batch = closing.batch;
    closure_.d = closing.d;
    closure_.reflexive = reflexive;
    closure_.cancelled = cancel;
    closure_.steps_done = steps_done_in(report);
  }

 protected:
  std::unique_ptr<Pending> begin(Session& session) override {
    report_[ReportField::gain] = kNothingGains;
    if (!closing_.d.data) make_matrix(closure_.d, closing_.operation.dtype);
    if (wants_next_) {
      closure_.next = row_major<void*>(nullptr, closing_.d.rows, closing_.d.cols);
      make_matrix(closure_.next, DataType::kInt32);
    }
    const MatrixView& from = closing_.from;
    if (closing_.batch == 0 || closing_.d.rows == 0) return std::make_unique<Done>();
    require_numbers(session);
    if (from.storage == Storage::kInt16) {
      widen(session);
    } else if (from.data) {
      session.copy(closing_.operation.dtype, closing_.batch, from, closure_.d)->finish();
    }
    normalize(session);
    const std::optional<ValueRange> known = bound_of_ways(session, closure_);
    if (!known) return std::make_unique<Done>(std::vector<Outcome>{close_by_float64(session, closure_, {})});
    closure_.known = *known;
    return close(session, closure_, {});
  }

  void end(const std::vector<Outcome>& outcomes) override {
    if (outcomes.empty()) return;
    report_[ReportField::kernelMs] = outcomes.front().timing.kernel;
    if (outcomes.front().gain) report_[ReportField::gain] = static_cast<double>(*outcomes.front().gain);
  }

  double steps() const override {
    const auto n = static_cast<double>(closing_.d.rows);
    return static_cast<double>(closing_.batch) * n * n * std::max(n, double{kStepsPerElement});
  }

 private:
  void make_matrix(MutableMatrixView& matrix, DataType dtype) {
    Memory& memory = make(bytes_of_matrices(closing_.batch, matrix.rows, matrix.cols, element_bytes(dtype)), dtype);
    matrix.data = memory.data();
    matrix.memory = &memory;
  }

  void require_numbers(Session& session) const {
    const MatrixView weights = closing_.from.data ? closing_.from : read_only(closing_.d);
    const std::optional<int64_t> found = session.find_nan(closing_.operation.dtype, closing_.batch, weights);
    if (!found) return;
    const int64_t n = weights.rows, item = *found / (n * n), row = *found / n % n, col = *found % n;
    throw Error(ErrorCode::kValue,
                "the matrix[" + (weights.batch_stride ? std::to_string(item) + ", " : "") + std::to_string(row) + ", " +
                    std::to_string(col) +
                    "] is NaN, which no path can be compared with: the semiring's zero means no edge");
  }

  /// Elements that are stored as int16 become elements.
  void widen(Session& session) const {
    const Operation& operation = closing_.operation;
    const double zero = with_semiring(operation, [](auto semiring) { return double(decltype(semiring)::zero); });
    session.fill(operation.dtype, closing_.batch, closure_.d, zero)->finish();
    session.combine(operation, closing_.batch, closure_.d, closing_.from)->finish();
  }

  /// Truth values become 0 or 1, and −0 becomes 0 if processors differ in which of them a maximum is. Throws Error for
  /// what isn't an element of the semiring.
  void normalize(Session& session) const {
    const bool has_forms = with_semiring(closing_.operation, [](auto semiring) {
      using S = decltype(semiring);
      return S::extend_kind != OperatorKind::kSum && !std::is_same_v<typename S::Element, int32_t>;
    });
    if (!has_forms) return;
    session.combine(closing_.operation, closing_.batch, closure_.d, read_only(closure_.d))->finish();
  }

  const Closing closing_;
  const bool wants_next_;
  double* const report_;
  Closure closure_;
  const Napi::ObjectReference arguments_;
};

class MemoryCopyWork : public DeviceWork {
 public:
  MemoryCopyWork(Uses uses, const MemoryCopy& copy) : DeviceWork(std::move(uses)), copy_(copy) {}

 protected:
  std::unique_ptr<Pending> begin(Session& session) override {
    if (steps() == 0) return std::make_unique<Done>();
    return session.copy(copy_.dtype, copy_.batch, copy_.from, copy_.to);
  }
  double steps() const override {
    return static_cast<double>(copy_.batch) * copy_.to.rows * copy_.to.cols * kStepsPerElement;
  }

 private:
  const MemoryCopy copy_;
};

Napi::Value close_matrix(const Napi::CallbackInfo& info) {
  Uses uses(device_of(info[0]));
  const bool in_place = info[2].ToBoolean(), reflexive = info[3].ToBoolean(), wants_next = info[4].ToBoolean();
  const Closing closing = read_closing(info[1], in_place, info[5], uses);
  auto* const report = static_cast<double*>(elements_of(info[6], napi_float64_array, ReportField::count));
  return DeviceWork::run(info.Env(), std::make_unique<ClosureWork>(info, std::move(uses), closing, reflexive,
                                                                   wants_next, report, cancel_of(info[7])));
}

Napi::Value copy_matrix(const Napi::CallbackInfo& info) {
  Uses uses(device_of(info[0]));
  const MemoryCopy copy = read_memory_copy(info[1], info[2], info[3], uses);
  return DeviceWork::run(info.Env(), std::make_unique<MemoryCopyWork>(std::move(uses), copy));
}

}  // namespace

void export_closure(Napi::Env env, Napi::Object exports) {
  exports.Set("closeMatrix", Napi::Function::New<guarded<close_matrix>>(env, "closeMatrix"));
  exports.Set("copyMatrix", Napi::Function::New<guarded<copy_matrix>>(env, "copyMatrix"));
}

}  // namespace mpmml::addon
