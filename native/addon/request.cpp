#include "addon/request.h"

#include <algorithm>
#include <stdexcept>

#include "core/dispatch.h"

namespace mpmml::addon {
namespace {

Napi::Array names(Napi::Env env, std::initializer_list<const char*> list) {
  Napi::Array array = Napi::Array::New(env, list.size());
  uint32_t index = 0;
  for (const char* name : list) array.Set(index++, name);
  return array;
}

[[noreturn]] void malformed(Napi::Env env, const std::string& what) {
  throw Napi::TypeError::New(env, "mpmml addon: malformed request: " + what);
}

napi_typedarray_type array_of(DataType dtype) {
  switch (dtype) {
    case DataType::kInt32:
      return napi_int32_array;
    case DataType::kFloat32:
      return napi_float32_array;
    case DataType::kFloat64:
      return napi_float64_array;
    case DataType::kUint8:
      return napi_uint8_array;
  }
  throw std::logic_error("an element type without an array");
}

struct TypedArray {
  bool valid;
  napi_typedarray_type type;
  size_t length;
  void* data;
};

TypedArray typed_array(const Napi::Value& value) {
  TypedArray array{};
  array.valid = napi_get_typedarray_info(value.Env(), value, &array.type, &array.length, &array.data, nullptr,
                                         nullptr) == napi_ok;
  return array;
}

/// Whether a matrix may be stored as int16.
enum class Int16 : bool { kRefused, kTaken };

/// Reads where the elements of a matrix are, from the fields from `first` on. The caller sets the memory.
template <class View>
View read_layout(Napi::Env env, const double* fields, size_t first, int64_t rows, int64_t cols) {
  View view;
  view.rows = rows;
  view.cols = cols;
  view.row_stride = static_cast<int64_t>(fields[first + 1]);
  view.col_stride = static_cast<int64_t>(fields[first + 2]);
  view.batch_stride = static_cast<int64_t>(fields[first + 3]);
  if (std::min({view.row_stride, view.col_stride, view.batch_stride}) < 0) malformed(env, "a negative stride");
  return view;
}

/// Reads a matrix whose fields start at `first`, and checks that its elements are inside the array.
template <class View>
View read_matrix(const Napi::Value& value, DataType dtype, Int16 int16, const double* fields, size_t first,
                 int64_t batch, int64_t rows, int64_t cols) {
  const Napi::Env env = value.Env();
  const TypedArray array = typed_array(value);
  View view = read_layout<View>(env, fields, first, rows, cols);
  if (int16 == Int16::kTaken && dtype == DataType::kInt32 && array.type == napi_int16_array) {
    view.storage = Storage::kInt16;
  }
  if (!array.valid || (view.storage == Storage::kElement && array.type != array_of(dtype))) {
    malformed(env, "a matrix in an array of another type");
  }
  const auto offset = static_cast<int64_t>(fields[first]);
  if (offset < 0) malformed(env, "a negative offset");
  if (batch > 0 && rows > 0 && cols > 0) {
    const __int128 last = static_cast<__int128>(offset) + static_cast<__int128>(batch - 1) * view.batch_stride +
                          static_cast<__int128>(rows - 1) * view.row_stride +
                          static_cast<__int128>(cols - 1) * view.col_stride;
    if (last >= static_cast<__int128>(array.length)) malformed(env, "a matrix reaches past its array");
    view.data = static_cast<char*>(array.data) + offset * stored_bytes(dtype, view.storage);
  }
  return view;
}

}  // namespace

#define MPMML_NAME(name) #name,
Napi::Array request_field_names(Napi::Env env) { return names(env, {MPMML_REQUEST_FIELDS(MPMML_NAME)}); }
Napi::Array report_field_names(Napi::Env env) { return names(env, {MPMML_REPORT_FIELDS(MPMML_NAME)}); }
#undef MPMML_NAME

void* elements_of(const Napi::Value& value, napi_typedarray_type type, size_t least) {
  const TypedArray array = typed_array(value);
  if (array.valid && array.type == type && array.length >= least) return array.data;
  malformed(value.Env(),
            "expected a typed array of type " + std::to_string(type) + " and length " + std::to_string(least));
}

Call read_call(const Napi::CallbackInfo& info, const std::vector<const Variant*>& variants) {
  const Napi::Env env = info.Env();
  using F = RequestField;
  const auto* fields = static_cast<const double*>(elements_of(info[4], napi_float64_array, F::count));
  const auto index = [&](size_t field, size_t count) {
    const double value = fields[field];
    if (!(value >= 0 && value < static_cast<double>(count))) malformed(env, "field " + std::to_string(field));
    return static_cast<size_t>(value);
  };
  const auto size = [&](size_t field) { return static_cast<int64_t>(index(field, size_t{1} << 31)); };

  Call call;
  Problem& problem = call.problem;
  Operation& operation = problem.operation;
  operation.semiring = static_cast<SemiringId>(index(F::semiring, std::size(kSemiringNames)));
  operation.dtype = static_cast<DataType>(index(F::dtype, std::size(kDataTypeNames)));
  operation.overflow = static_cast<OverflowPolicy>(index(F::overflow, std::size(kOverflowPolicyNames)));
  if (!has_semiring(operation.semiring, operation.dtype)) malformed(env, "a semiring without this element type");
  const DataType dtype = operation.dtype;
  problem.batch = size(F::batch);
  const int64_t m = size(F::m), n = size(F::n), k = size(F::k);
  problem.a = read_matrix<MatrixView>(info[0], dtype, Int16::kTaken, fields, F::aOffset, problem.batch, m, k);
  problem.b = read_matrix<MatrixView>(info[1], dtype, Int16::kTaken, fields, F::bOffset, problem.batch, k, n);
  call.request.plan_only = fields[F::planOnly] != 0;
  if (call.request.plan_only && info[2].IsNull()) {
    problem.c = read_layout<MutableMatrixView>(env, fields, F::cOffset, m, n);
  } else {
    problem.c =
        read_matrix<MutableMatrixView>(info[2], dtype, Int16::kRefused, fields, F::cOffset, problem.batch, m, n);
  }
  if (!info[3].IsNull()) {
    problem.c0 = read_matrix<MatrixView>(info[3], dtype, Int16::kRefused, fields, F::c0Offset, problem.batch, m, n);
  }
  problem.keeps_c = fields[F::keepsC] != 0;
  call.request.backend = static_cast<BackendChoice>(index(F::backend, std::size(kBackendChoiceNames)));
  call.request.where.device = static_cast<int>(index(F::device, 1 << 16));
  call.request.where.device_memory = static_cast<int64_t>(index(F::deviceMemory, size_t{1} << 53));
  if (fields[F::variant] >= 0) call.request.where.variant = variants[index(F::variant, variants.size())];
  return call;
}

std::atomic<double>* steps_done_in(double* report) {
  static_assert(sizeof(std::atomic<double>) == sizeof(double) && std::atomic<double>::is_always_lock_free,
                "a number that JavaScript reads can be counted in");
  return reinterpret_cast<std::atomic<double>*>(report + ReportField::stepsDone);
}

void write_report(double* report, const Result& result, const std::vector<const Variant*>& variants, int device,
                  double total_ms) {
  using F = ReportField;
  const Outcome& outcome = result.outcome;
  const auto row = std::find(variants.begin(), variants.end(), outcome.plan.variant);
  report[F::backend] = static_cast<double>(result.backend);
  report[F::device] = result.backend == BackendKind::kCuda ? device : -1;
  report[F::variant] = static_cast<double>(row - variants.begin());
  report[F::path] = static_cast<double>(outcome.plan.path);
  report[F::totalMs] = total_ms;
  report[F::kernelMs] = outcome.timing.kernel;
  report[F::analysisMs] = outcome.timing.analysis;
  report[F::h2dMs] = outcome.timing.h2d;
  report[F::d2hMs] = outcome.timing.d2h;
}

}  // namespace mpmml::addon
