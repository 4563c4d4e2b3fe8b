#include "addon/request.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>
#include <unordered_map>

#include "addon/engine.h"
#include "core/algebra/dispatch.h"
#include "core/problem/structured.h"
#include "core/status.h"

namespace mpmml::addon {
namespace {

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

/// A field that is an index into a list of `count`, or a size below that.
uint64_t index_in(Napi::Env env, const double* fields, size_t field, uint64_t count) {
  const double value = fields[field];
  if (!(value >= 0 && value < static_cast<double>(count))) malformed(env, "field " + std::to_string(field));
  return static_cast<uint64_t>(value);
}

constexpr uint64_t kMostSize = uint64_t{1} << 31;
constexpr int64_t kMostBytes = int64_t{1} << 53;

int64_t size_in(Napi::Env env, const double* fields, size_t field) {
  return static_cast<int64_t>(index_in(env, fields, field, kMostSize));
}

DataType dtype_in(Napi::Env env, const double* fields, size_t field) {
  return static_cast<DataType>(index_in(env, fields, field, std::size(kDataTypeNames)));
}

/// The band whose fields begin with `first`.
Band band_in(Napi::Env env, const double* fields, size_t first) {
  const auto reach = [&](size_t field) {
    const double value = fields[field];
    if (std::isnan(value)) malformed(env, "field " + std::to_string(field));
    constexpr auto most = static_cast<double>(kAllDiagonals);
    return static_cast<int64_t>(std::clamp(value, -most, most));
  };
  return {reach(first), reach(first + 1)};
}

Operation operation_in(Napi::Env env, const double* fields) {
  using F = RequestField;
  Operation operation;
  operation.semiring = static_cast<SemiringId>(index_in(env, fields, F::semiring, std::size(kSemiringNames)));
  operation.dtype = dtype_in(env, fields, F::dtype);
  operation.overflow = static_cast<OverflowPolicy>(index_in(env, fields, F::overflow, std::size(kOverflowPolicyNames)));
  if (!has_semiring(operation.semiring, operation.dtype)) malformed(env, "a semiring without this element type");
  return operation;
}

/// Whether a matrix may be stored as int16.
enum class Int16 : bool { kRefused, kTaken };

/// Reads matrices of one batch and one element type, and checks that their elements are inside their arrays or memories.
struct Reader {
  Napi::Env env;
  const double* fields;
  DataType dtype;
  int64_t batch;
  Uses* uses;                ///< null: matrices are in arrays
  bool takes_words = false;  ///< whether integers may be in a Uint32Array

  /// Where the elements of a matrix are, from the fields from `first` on. The caller sets the memory.
  template <class View>
  View layout(size_t first, int64_t rows, int64_t cols) const {
    View view;
    view.rows = rows;
    view.cols = cols;
    view.row_stride = count_at(first + 1);
    view.col_stride = count_at(first + 2);
    view.batch_stride = count_at(first + 3);
    return view;
  }

  /// An offset or a stride.
  int64_t count_at(size_t field) const {
    const double count = fields[field];
    if (!(count >= 0 && count <= static_cast<double>(kMostBytes))) malformed(env, "field " + std::to_string(field));
    return static_cast<int64_t>(count);
  }

  /// The end of the elements, if `length` elements are there from which they are taken.
  template <class View>
  int64_t end_of(const View& view, int64_t offset, int64_t length) const {
    const __int128 last = static_cast<__int128>(offset) + static_cast<__int128>(batch - 1) * view.batch_stride +
                          static_cast<__int128>(view.rows - 1) * view.row_stride +
                          static_cast<__int128>(view.cols - 1) * view.col_stride;
    if (last >= static_cast<__int128>(length)) malformed(env, "a matrix reaches past its memory");
    return static_cast<int64_t>(last) + 1;
  }

  template <class View>
  bool has_elements(const View& view) const {
    return batch > 0 && view.rows > 0 && view.cols > 0;
  }

  void require_storage(Storage storage, Int16 int16) const {
    if (storage == Storage::kInt16 && (int16 == Int16::kRefused || dtype != DataType::kInt32)) {
      malformed(env, "a matrix of another type");
    }
  }

  template <class View>
  View in_array(const Napi::Value& value, Int16 int16, size_t first, int64_t rows, int64_t cols) const {
    View view = layout<View>(first, rows, cols);
    const int64_t offset = count_at(first);
    const TypedArray array = typed_array(value);
    if (array.valid && array.type == napi_int16_array) view.storage = Storage::kInt16;
    require_storage(view.storage, int16);
    const bool are_words = takes_words && dtype == DataType::kInt32 && array.type == napi_uint32_array;
    if (!array.valid || (view.storage == Storage::kElement && array.type != array_of(dtype) && !are_words)) {
      malformed(env, "a matrix of another type");
    }
    if (!has_elements(view)) return view;
    end_of(view, offset, static_cast<int64_t>(array.length));
    view.data = static_cast<char*>(array.data) + offset * stored_bytes(dtype, view.storage);
    return view;
  }

  template <class View>
  View in_memory(KnownMemory& memory, const char* name, Int16 int16, size_t first, int64_t rows, int64_t cols) const {
    View view = layout<View>(first, rows, cols);
    const int64_t offset = count_at(first);
    if (memory.dtype != dtype) malformed(env, "a matrix of another type");
    require_storage(memory.storage, int16);
    view.storage = memory.storage;
    constexpr bool is_written = std::is_same_v<View, MutableMatrixView>;
    const int64_t element = stored_bytes(dtype, view.storage);
    const int64_t length = memory.bytes / element;
    const Bytes bytes = has_elements(view) ? Bytes{offset * element, end_of(view, offset, length) * element} : Bytes{};
    view.memory = memory.memory;
    if (has_elements(view)) view.data = memory.data + bytes.first;
    uses->add(memory, name, bytes, is_written ? Uses::Access::kWrites : Uses::Access::kReads);
    return view;
  }

  template <class View>
  View matrix(const Source& source, const char* name, Int16 int16, size_t first, int64_t rows, int64_t cols) const {
    if (source.memory) return in_memory<View>(*source.memory, name, int16, first, rows, cols);
    return in_array<View>(source.array, int16, first, rows, cols);
  }
};

}  // namespace

Source source_of(const Napi::Value& value, const Uses* uses) {
  if (is_missing(value)) return {};
  MemoryHandle* const handle = uses ? memory_handle(value) : nullptr;
  if (!handle) return {value};
  if (handle->device != uses->device()) malformed(value.Env(), "a memory of another device");
  KnownMemory* const memory = uses->device()->known(handle->number);
  if (!memory) throw Error(ErrorCode::kDisposed, "a matrix has been disposed");
  return {{}, memory};
}

Call read_call(Napi::Env env, const Matrices& matrices, const double* fields, Uses* uses, Problem& problem) {
  using F = RequestField;
  const auto index = [&](size_t field, uint64_t count) { return index_in(env, fields, field, count); };
  const auto& [a, b, c, c0, witness] = matrices;

  Call call;
  const Operation operation = problem.operation = operation_in(env, fields);
  problem.batch = size_in(env, fields, F::batch);
  const int64_t m = size_in(env, fields, F::m), n = size_in(env, fields, F::n), k = size_in(env, fields, F::k);
  const Reader read{env, fields, operation.dtype, problem.batch, uses};
  problem.a = read.matrix<MatrixView>(a, "a", Int16::kTaken, F::aOffset, m, k);
  problem.b = read.matrix<MatrixView>(b, "b", Int16::kTaken, F::bOffset, k, n);
  call.is_only_planned = fields[F::planOnly] != 0;
  if (!c.is_nowhere()) {
    if (uses && !c.memory) malformed(env, "a result that isn't on the device");
    problem.c = read.matrix<MutableMatrixView>(c, "out", Int16::kRefused, F::cOffset, m, n);
  } else if (call.is_only_planned) {
    problem.c = read.layout<MutableMatrixView>(F::cOffset, m, n);
  } else if (uses) {
    const int64_t element = element_bytes(operation.dtype);
    bytes_of_matrices(problem.batch, m, n, element);
    problem.c = row_major<void*>(nullptr, m, n);
    call.c_at = read.count_at(F::cOffset) * element;
  } else {
    malformed(env, "a product without a result");
  }
  if (!c0.is_nowhere()) problem.c0 = read.matrix<MatrixView>(c0, "accumulate", Int16::kRefused, F::c0Offset, m, n);
  if (fields[F::asksWitness] != 0) {
    if (!is_idempotent(operation)) malformed(env, "a witness of a semiring that has none");
    const Reader read_witness{env, fields, DataType::kInt32, problem.batch, uses};
    if (!witness.is_nowhere()) {
      if (uses && !witness.memory) malformed(env, "a witness that isn't on the device");
      problem.witness =
          read_witness.matrix<MutableMatrixView>(witness, "the witness", Int16::kRefused, F::witnessOffset, m, n);
    } else if (call.is_only_planned) {
      // Without data it wouldn't be asked for; nothing is written there.
      static int32_t planned;
      problem.witness = row_major<void*>(&planned, m, n);
    } else if (uses) {
      constexpr int64_t element = element_bytes(DataType::kInt32);
      bytes_of_matrices(problem.batch, m, n, element);
      problem.witness = row_major<void*>(nullptr, m, n);
      call.witness_at = read_witness.count_at(F::witnessOffset) * element;
    } else {
      malformed(env, "a witness without memory");
    }
  }
  if (fields[F::structured] != 0) {
    problem.structure = {band_in(env, fields, F::aBelow), band_in(env, fields, F::bBelow),
                         band_in(env, fields, F::cBelow)};
  }
  problem.keeps_c = fields[F::keepsC] != 0;
  call.may_wait = fields[F::mayWait] != 0;
  call.request.backend = static_cast<BackendChoice>(index(F::backend, std::size(kBackendChoiceNames)));
  call.request.where.device = static_cast<int>(index(F::device, 1 << 16));
  call.request.devices = index(F::devices, kAllDevices + 1);
  call.request.where.device_memory = static_cast<int64_t>(index(F::deviceMemory, uint64_t{1} << 53));
  const auto& variants = engine_of_build().variants();
  if (fields[F::variant] >= 0) call.request.where.variant = variants[index(F::variant, variants.size())];
  return call;
}

UserMatricesOf user_matrices_of(const Napi::Value& a, const Napi::Value& b, const Napi::Value& c, const Napi::Value& c0,
                                const Napi::Value& witness, size_t lanes, const Uses* uses) {
  UserMatricesOf matrices;
  const Napi::Value given[] = {a, b, c, c0};
  for (size_t which = 0; which < std::size(given); ++which) {
    const Napi::Value& value = given[which];
    if (which >= 2 && is_missing(value)) continue;
    if (!value.IsArray() || value.As<Napi::Array>().Length() != lanes) malformed(value.Env(), "an array of lanes");
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      Source& source = matrices.lanes[which][lane] = source_of(value.As<Napi::Array>().Get(lane), uses);
      if (source.is_nowhere()) malformed(value.Env(), "a lane that isn't there");
    }
    if (which == 2) matrices.has_c = true;
    if (which == 3) matrices.has_c0 = true;
  }
  matrices.witness = source_of(witness, uses);
  return matrices;
}

UserCall read_user_call(Napi::Env env, std::shared_ptr<const UserSemiring> semiring, const UserMatricesOf& matrices,
                        const double* fields, Uses* uses, bool is_explained) {
  using F = UserRequestField;
  const auto index = [&](size_t field, uint64_t count) { return index_in(env, fields, field, count); };
  UserCall call;
  UserProduct& product = call.product;
  product.semiring = std::move(semiring);
  product.batch = size_in(env, fields, F::batch);
  const int64_t m = product.m = size_in(env, fields, F::m), n = product.n = size_in(env, fields, F::n);
  const int64_t k = product.k = size_in(env, fields, F::k);
  const bool asks_witness = fields[F::asksWitness] != 0;
  if (asks_witness && !product.semiring->selective) malformed(env, "a witness of a semiring that has none");
  constexpr size_t kFields = F::aLane1Offset - F::aLane0Offset;
  for (size_t lane = 0; !is_explained && lane < product.lane_count(); ++lane) {
    const Reader read{env, fields, stored_type(product.semiring->lanes[lane]), product.batch, uses, true};
    const auto at = [&](size_t first) { return first + lane * kFields; };
    const auto& [a, b, c, c0] = matrices.lanes;
    product.a[lane] = read.matrix<MatrixView>(a[lane], "a", Int16::kRefused, at(F::aLane0Offset), m, k);
    product.b[lane] = read.matrix<MatrixView>(b[lane], "b", Int16::kRefused, at(F::bLane0Offset), k, n);
    if (matrices.has_c0) {
      product.c0[lane] = read.matrix<MatrixView>(c0[lane], "accumulate", Int16::kRefused, at(F::c0Lane0Offset), m, n);
    }
    if (matrices.has_c) {
      if (uses && !c[lane].memory) malformed(env, "a result that isn't on the device");
      product.c[lane] = read.matrix<MutableMatrixView>(c[lane], "out", Int16::kRefused, at(F::cLane0Offset), m, n);
    } else {
      if (!uses) malformed(env, "a product without a result");
      bytes_of_matrices(product.batch, m, n, element_bytes(DataType::kInt32));
      call.makes_c = true;
    }
  }
  if (asks_witness && is_explained) {
    // Without data it wouldn't be asked for; nothing is written there.
    static int32_t explained;
    product.witness = row_major<void*>(&explained, m, n);
  } else if (asks_witness && !matrices.witness.is_nowhere()) {
    if (uses && !matrices.witness.memory) malformed(env, "a witness that isn't on the device");
    const Reader read{env, fields, DataType::kInt32, product.batch, uses};
    product.witness =
        read.matrix<MutableMatrixView>(matrices.witness, "the witness", Int16::kRefused, F::witnessOffset, m, n);
  } else if (asks_witness) {
    if (!uses) malformed(env, "a witness without memory");
    bytes_of_matrices(product.batch, m, n, element_bytes(DataType::kInt32));
    call.makes_witness = true;
  }
  if (fields[F::structured] != 0) {
    product.structure = {band_in(env, fields, F::aBelow), band_in(env, fields, F::bBelow),
                         band_in(env, fields, F::cBelow)};
  }
  product.keeps_c = fields[F::keepsC] != 0;
  call.request.backend = static_cast<BackendChoice>(index(F::backend, std::size(kBackendChoiceNames)));
  call.request.where.device = static_cast<int>(index(F::device, 1 << 16));
  call.request.devices = index(F::devices, kAllDevices + 1);
  call.request.where.device_memory = static_cast<int64_t>(index(F::deviceMemory, uint64_t{1} << 53));
  return call;
}

std::atomic<double>* steps_done_in(double* report) {
  static_assert(sizeof(std::atomic<double>) == sizeof(double) && std::atomic<double>::is_always_lock_free,
                "a number that JavaScript reads can be counted in");
  return reinterpret_cast<std::atomic<double>*>(report + ReportField::stepsDone);
}

int64_t bytes_of_matrices(int64_t batch, int64_t rows, int64_t cols, int64_t element) {
  const __int128 bytes = static_cast<__int128>(batch) * rows * cols * element;
  if (bytes <= kMostBytes) return static_cast<int64_t>(bytes);
  throw Error(ErrorCode::kOutOfMemory, "a matrix of " + std::to_string(batch) + " × " + std::to_string(rows) + " × " +
                                           std::to_string(cols) + " elements is larger than memory can be");
}

namespace {

/// The fields of a copy that are not of its matrices.
struct CopyRequest {
  CopyRequest(Napi::Env of, const double* by)
      : env(of), fields(by), rows(size_in(env, fields, CopyField::rows)), cols(size_in(env, fields, CopyField::cols)) {
    copy.dtype = dtype_in(env, fields, CopyField::dtype);
    copy.batch = size_in(env, fields, CopyField::batch);
    copy.value = fields[CopyField::value];
  }
  Reader reader(Uses* uses) const { return {env, fields, copy.dtype, copy.batch, uses}; }

  const Napi::Env env;
  const double* const fields;
  const int64_t rows, cols;
  Copy copy;
};

/// Whether an element of the type can be this value, after rounding.
bool can_be(DataType dtype, double value) {
  switch (dtype) {
    case DataType::kInt32:
      return value >= -2147483648.0 && value <= 2147483647.0;
    case DataType::kUint8:
      return value >= 0 && value <= 255;
    case DataType::kFloat32:
    case DataType::kFloat64:
      return true;
  }
  return false;
}

}  // namespace

Copy read_upload(const Napi::Value& array, const double* fields) {
  CopyRequest read(array.Env(), fields);
  read.copy.array = read.reader(nullptr).matrix<MutableMatrixView>({array}, "the matrix", Int16::kTaken,
                                                                   CopyField::arrayOffset, read.rows, read.cols);
  read.copy.bytes =
      bytes_of_matrices(read.copy.batch, read.rows, read.cols, stored_bytes(read.copy.dtype, read.copy.array.storage));
  return read.copy;
}

Copy read_download(const Napi::Value& memory, const Napi::Value& array, const double* fields, Uses& uses) {
  CopyRequest read(memory.Env(), fields);
  const Source source = source_of(memory, &uses);
  if (!source.memory) malformed(read.env, "a matrix that isn't on the device");
  read.copy.memory = read.reader(&uses).matrix<MatrixView>(source, "the matrix", Int16::kTaken, CopyField::memoryOffset,
                                                           read.rows, read.cols);
  read.copy.array = read.reader(nullptr).matrix<MutableMatrixView>({array}, "out", Int16::kTaken,
                                                                   CopyField::arrayOffset, read.rows, read.cols);
  if (read.copy.array.storage != read.copy.memory.storage) malformed(read.env, "a matrix of another type");
  return read.copy;
}

Copy read_fill(Napi::Env env, const double* fields) {
  CopyRequest read(env, fields);
  if (!can_be(read.copy.dtype, read.copy.value)) malformed(read.env, "a value that the type doesn't have");
  read.copy.array = row_major<void*>(nullptr, read.rows, read.cols);
  read.copy.bytes = bytes_of_matrices(read.copy.batch, read.rows, read.cols, element_bytes(read.copy.dtype));
  return read.copy;
}

Problem read_combine(const Napi::Value& c, const Napi::Value& d, const double* fields, Uses& uses) {
  const Napi::Env env = c.Env();
  using F = RequestField;
  Problem problem;
  problem.operation = operation_in(env, fields);
  problem.batch = size_in(env, fields, F::batch);
  const int64_t rows = size_in(env, fields, F::m), cols = size_in(env, fields, F::n);
  const Reader read{env, fields, problem.operation.dtype, problem.batch, &uses};
  const Source to = source_of(c, &uses), from = source_of(d, &uses);
  if (!to.memory || !from.memory) malformed(env, "a matrix that isn't on the device");
  problem.c = read.matrix<MutableMatrixView>(to, "the matrix", Int16::kRefused, F::cOffset, rows, cols);
  problem.b = read.matrix<MatrixView>(from, "d", Int16::kTaken, F::bOffset, rows, cols);
  return problem;
}

Closing read_closing(const Napi::Value& matrix, bool in_place, const Napi::Value& out, const double* fields,
                     Uses& uses) {
  const Napi::Env env = matrix.Env();
  using F = RequestField;
  Closing closing;
  closing.operation = operation_in(env, fields);
  if (!is_idempotent(closing.operation)) malformed(env, "a closure over a semiring that has none");
  closing.batch = size_in(env, fields, F::batch);
  closing.in_place = in_place;
  const int64_t n = closing.n = size_in(env, fields, F::n);
  bytes_of_matrices(closing.batch, n, n, element_bytes(closing.operation.dtype));
  const Reader read{env, fields, closing.operation.dtype, closing.batch, &uses};
  const Source source = source_of(matrix, &uses), target = source_of(out, &uses);
  if (!source.memory || (!target.is_nowhere() && !target.memory)) malformed(env, "a matrix that isn't on the device");
  if (in_place) {
    closing.matrix = read.matrix<MutableMatrixView>(source, "the matrix", Int16::kRefused, F::aOffset, n, n);
    if (!is_row_major(closing.matrix, closing.batch)) malformed(env, "a matrix that isn't row-major");
  } else {
    const auto from = read.matrix<MatrixView>(source, "the matrix", Int16::kTaken, F::aOffset, n, n);
    closing.matrix = {const_cast<void*>(from.data),
                      n,
                      n,
                      from.row_stride,
                      from.col_stride,
                      from.batch_stride,
                      from.storage,
                      from.memory};
  }
  if (target.memory) closing.out = read.matrix<MutableMatrixView>(target, "out", Int16::kRefused, F::cOffset, n, n);
  return closing;
}

MemoryCopy read_memory_copy(const Napi::Value& from, const Napi::Value& to, const double* fields, Uses& uses) {
  CopyRequest read(from.Env(), fields);
  const Source source = source_of(from, &uses), target = source_of(to, &uses);
  if (!source.memory || !target.memory) malformed(read.env, "a matrix that isn't on the device");
  const Reader reader = read.reader(&uses);
  MemoryCopy copy{read.copy.dtype, read.copy.batch, {}, {}};
  copy.from =
      reader.matrix<MatrixView>(source, "the matrix", Int16::kRefused, CopyField::memoryOffset, read.rows, read.cols);
  copy.to =
      reader.matrix<MutableMatrixView>(target, "out", Int16::kRefused, CopyField::arrayOffset, read.rows, read.cols);
  return copy;
}

namespace {

/// What of a report no problem decides.
void write_result(double* report, const Result& result, double total_ms) {
  using F = ReportField;
  const Outcome& outcome = result.outcome;
  report[F::backend] = static_cast<double>(result.backend);
  report[F::device] = result.backend == BackendKind::kCuda ? result.device : -1;
  report[F::devices] = static_cast<double>(result.devices);
  report[F::totalMs] = total_ms;
  report[F::kernelMs] = outcome.timing.kernel;
  report[F::analysisMs] = outcome.timing.analysis;
  report[F::h2dMs] = outcome.timing.h2d;
  report[F::d2hMs] = outcome.timing.d2h;
}

}  // namespace

void write_report(double* report, const Problem& problem, const Result& result, double total_ms) {
  using F = ReportField;
  static const auto& places = *[] {
    auto* const all = new std::unordered_map<const Variant*, size_t>;
    for (const Variant* variant : engine_of_build().variants()) all->emplace(variant, all->size());
    return all;
  }();
  write_result(report, result, total_ms);
  report[F::variant] = static_cast<double>(places.at(result.outcome.plan.variant));
  report[F::path] = static_cast<double>(result.outcome.plan.path);
  report[F::steps] = steps_of(problem);
}

void write_user_report(double* report, const UserProduct& product, const Result& result, double total_ms) {
  using F = ReportField;
  write_result(report, result, total_ms);
  report[F::variant] = report[F::path] = -1;
  report[F::steps] = product.steps();
}

}  // namespace mpmml::addon
