// Closures of matrices of a device.
#include "core/closure/closure.h"

#include <algorithm>

#include "addon/request.h"
#include "core/algebra/dispatch.h"
#include "core/session/user_operands.h"
#include "core/status.h"

namespace mpmml::addon {
namespace {

/// Value of ReportField::gain without an improving cycle.
constexpr double kNothingGains = -1;

class ClosureWork : public DeviceWork {
 public:
  ClosureWork(const Napi::CallbackInfo& info, Uses uses, const ClosureRequest& closing, bool reflexive, bool wants_next,
              double* report, std::atomic<int32_t>* cancel)
      : DeviceWork(std::move(uses), cancel),
        closing_(closing),
        wants_next_(wants_next),
        report_(report),
        arguments_(keep(info)) {
    closure_.operation = closing.operation;
    closure_.batch = closing.batch;
    closure_.reflexive = reflexive;
    closure_.cancelled = cancel;
    closure_.steps_done = steps_done_in(report);
  }

 protected:
  std::unique_ptr<Pending> begin(Session& session) override {
    report_[ReportField::gain] = kNothingGains;
    const std::shared_ptr<Memory> apart = place_matrices(session);
    if (!closing_.has_elements()) return std::make_unique<Done>();
    require_numbers(session);
    if (!closing_.in_place) take_matrix(session);
    normalize(session);
    std::unique_ptr<Pending> pending = close(session, closure_, {});
    if (!closing_.out.memory) return pending;
    // Later work of the device may read the matrix, which changes only if there is no improving cycle.
    const std::vector<Outcome> outcomes = pending->finish();
    end(outcomes);
    auto copying = std::make_unique<WhenAll>(WhenAll::Kind::kParts, KeptMemory{apart});
    copying->add(session.copy(closing_.operation.dtype, closing_.batch, read_only(closure_.d), closing_.out));
    return copying;
  }

  void end(const std::vector<Outcome>& outcomes) override {
    if (outcomes.empty()) return;
    report_[ReportField::kernelMs] = outcomes.front().timing.kernel;
    if (!outcomes.front().gain) return;
    report_[ReportField::gain] = static_cast<double>(*outcomes.front().gain);
    throw Error(ErrorCode::kCycle, "a cycle gains");
  }

  double steps() const override {
    const auto n = static_cast<double>(closing_.n);
    return static_cast<double>(closing_.batch) * n * n * std::max(n, double{kStepsPerElement});
  }

 private:
  /// Selects the memory of the closure and of the next nodes. Returns temporary memory that is needed until the closure
  /// has been copied to its destination.
  std::shared_ptr<Memory> place_matrices(Session& session) {
    const int64_t n = closing_.n;
    closure_.d = closing_.in_place ? closing_.matrix : row_major<void*>(nullptr, n, n);
    if (closing_.batch == 1) closure_.d.batch_stride = 0;
    std::shared_ptr<Memory> apart;
    if (!closing_.in_place && closing_.out.memory) {
      const int64_t bytes = bytes_of_matrices(closing_.batch, n, n, element_bytes(closing_.operation.dtype));
      apart = units() > 0 ? session.allocate_units(units(), bytes / units()) : session.allocate(bytes);
      closure_.d = placed_in(*apart, closure_.d);
    } else if (!closing_.in_place) {
      make_matrix(closure_.d, closing_.operation.dtype);
    }
    if (wants_next_) {
      closure_.next = row_major<void*>(nullptr, n, n);
      make_matrix(closure_.next, DataType::kInt32);
    }
    return apart;
  }

  int64_t units() const { return closing_.batch > 1 ? closing_.batch : closing_.n; }

  void make_matrix(MutableMatrixView& matrix, DataType dtype) {
    const int64_t bytes = bytes_of_matrices(closing_.batch, matrix.rows, matrix.cols, element_bytes(dtype));
    matrix = placed_in(make(bytes, dtype, Storage::kElement, units()), matrix);
  }

  void require_numbers(Session& session) const {
    const MatrixView weights = read_only(closing_.matrix);
    const std::optional<int64_t> found = session.find_nan(closing_.operation.dtype, closing_.batch, weights);
    if (!found) return;
    const int64_t n = closing_.n, item = *found / (n * n), row = *found / n % n, col = *found % n;
    throw Error(ErrorCode::kValue,
                "the matrix[" + (closing_.batch > 1 ? std::to_string(item) + ", " : "") + std::to_string(row) + ", " +
                    std::to_string(col) +
                    "] is NaN, which no path can be compared with: the semiring's zero means no edge");
  }

  /// Copies the matrix. Elements that are stored in a narrower type are converted.
  void take_matrix(Session& session) const {
    const Operation& operation = closing_.operation;
    const MatrixView from = read_only(closing_.matrix);
    if (from.storage == Storage::kElement) {
      session.copy(operation.dtype, closing_.batch, from, closure_.d)->finish();
      return;
    }
    const double zero = with_semiring(operation, [](auto semiring) { return double(decltype(semiring)::zero); });
    session.fill(operation.dtype, closing_.batch, closure_.d, zero)->finish();
    session.combine(operation, closing_.batch, closure_.d, from)->finish();
  }

  /// Normalizes truth values to 0 or 1, and −0 to 0 where processors differ in the maximum of the two. Throws Error for
  /// values that aren't elements of the semiring.
  void normalize(Session& session) const {
    const bool has_forms = with_semiring(closing_.operation, [](auto semiring) {
      using S = decltype(semiring);
      return S::extend_kind != OperatorKind::kSum && !std::is_same_v<typename S::Element, int32_t>;
    });
    if (!has_forms) return;
    session.combine(closing_.operation, closing_.batch, closure_.d, read_only(closure_.d))->finish();
  }

  const ClosureRequest closing_;
  const bool wants_next_;
  double* const report_;
  Closure closure_;
  const Napi::ObjectReference arguments_;
};

}  // namespace

Napi::Value close_matrix(const Napi::CallbackInfo& info, const std::shared_ptr<Device>& device,
                         const Napi::Value& matrix, const Napi::Value& out, bool in_place, bool reflexive,
                         bool wants_next, const double* request, double* report, std::atomic<int32_t>* cancel) {
  Uses uses(device);
  const ClosureRequest closing = read_closing(matrix, in_place, out, request, uses);
  return DeviceWork::run(
      info.Env(), std::make_unique<ClosureWork>(info, std::move(uses), closing, reflexive, wants_next, report, cancel));
}

}  // namespace mpmml::addon
