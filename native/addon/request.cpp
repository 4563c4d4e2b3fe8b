#include "addon/request.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>
#include <unordered_map>

#include "addon/engine.h"
#include "core/algebra/dispatch.h"
#include "core/algebra/element_types.h"
#include "core/problem/structured.h"
#include "core/status.h"

namespace mpmml::addon {
namespace {

/// Throws std::invalid_argument instead of Napi::Error, because other threads than JavaScript's read requests, too.
[[noreturn]] void malformed_request(const std::string& what) {
  throw std::invalid_argument("malformed request: " + what);
}

Source source_in(const TypedArray& array) {
  Source source;
  source.is_there = true;
  source.data = static_cast<char*>(array.data);
  switch (array.valid ? array.type : napi_bigint64_array) {
#define MPMML_CASE(name, stored, id, element, stored_as) \
  case napi_##name##_array:                              \
    source.dtype = DataType::id;                         \
    source.storage = Storage::stored_as;                 \
    break;
    MPMML_FOR_EACH_STORED_TYPE(MPMML_CASE)
#undef MPMML_CASE
    case napi_uint32_array:
      source.dtype = DataType::kInt32;
      source.are_words = true;
      break;
    default:
      malformed_request("a matrix of another type");
  }
  source.bytes = static_cast<int64_t>(array.length) * stored_bytes(source.dtype, source.storage);
  return source;
}

/// Returns a field that must be an integer below `count`.
uint64_t index_in(const double* fields, size_t field, uint64_t count) {
  const double value = fields[field];
  if (!(value >= 0 && value < static_cast<double>(count))) malformed_request("field " + std::to_string(field));
  return static_cast<uint64_t>(value);
}

constexpr uint64_t kMaxSize = uint64_t{1} << 31;
constexpr int64_t kMaxBytes = int64_t{1} << 53;

int64_t size_in(const double* fields, size_t field) { return static_cast<int64_t>(index_in(fields, field, kMaxSize)); }

DataType dtype_in(const double* fields, size_t field) {
  return static_cast<DataType>(index_in(fields, field, std::size(kDataTypeNames)));
}

/// Returns the band whose fields begin with `first`.
Band band_in(const double* fields, size_t first) {
  const auto reach = [&](size_t field) {
    const double value = fields[field];
    if (std::isnan(value)) malformed_request("field " + std::to_string(field));
    constexpr auto most = static_cast<double>(kAllDiagonals);
    return static_cast<int64_t>(std::clamp(value, -most, most));
  };
  return {reach(first), reach(first + 1)};
}

template <class F>
Structure structure_in(const double* fields) {
  if (fields[F::structured] == 0) return {};
  return {band_in(fields, F::aBelow), band_in(fields, F::bBelow), band_in(fields, F::cBelow)};
}

/// Reads the backend and the devices of a call, but not its variant.
template <class F>
Request request_in(const double* fields) {
  Request request;
  request.backend = static_cast<BackendChoice>(index_in(fields, F::backend, std::size(kBackendChoiceNames)));
  request.where.device = static_cast<int>(index_in(fields, F::device, 1 << 16));
  request.devices = index_in(fields, F::devices, kAllDevices + 1);
  request.where.device_memory = static_cast<int64_t>(index_in(fields, F::deviceMemory, uint64_t{1} << 53));
  return request;
}

Operation operation_in(const double* fields) {
  using F = RequestField;
  Operation operation;
  operation.semiring = static_cast<SemiringId>(index_in(fields, F::semiring, std::size(kSemiringNames)));
  operation.dtype = dtype_in(fields, F::dtype);
  operation.overflow = static_cast<OverflowPolicy>(index_in(fields, F::overflow, std::size(kOverflowPolicyNames)));
  if (!has_semiring(operation.semiring, operation.dtype)) malformed_request("a semiring without this element type");
  return operation;
}

/// Whether a matrix may be stored in a narrower type.
enum class NarrowStorage : bool { kRefused, kTaken };

/// Reads matrices of one batch and one element type, and checks that their elements are inside their arrays or
/// memories.
struct Reader {
  const double* fields;
  DataType dtype;
  int64_t batch;
  Uses* uses = nullptr;      ///< collects the used memories if it isn't null
  bool takes_words = false;  ///< whether integers may be in a Uint32Array

  /// Returns the layout of a matrix from the fields from `first` on. The caller sets the memory.
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

  /// Returns a field that is an offset or a stride.
  int64_t count_at(size_t field) const {
    const double count = fields[field];
    if (!(count >= 0 && count <= static_cast<double>(kMaxBytes))) malformed_request("field " + std::to_string(field));
    return static_cast<int64_t>(count);
  }

  /// Returns the end of a matrix's elements, and throws if it is past `length` elements.
  template <class View>
  int64_t end_of(const View& view, int64_t offset, int64_t length) const {
    const __int128 last = static_cast<__int128>(offset) + static_cast<__int128>(batch - 1) * view.batch_stride +
                          static_cast<__int128>(view.rows - 1) * view.row_stride +
                          static_cast<__int128>(view.cols - 1) * view.col_stride;
    if (last >= static_cast<__int128>(length)) malformed_request("a matrix reaches past its memory");
    return static_cast<int64_t>(last) + 1;
  }

  template <class View>
  bool has_elements(const View& view) const {
    return batch > 0 && view.rows > 0 && view.cols > 0;
  }

  void require_type(const Source& source, NarrowStorage narrow) const {
    const bool is_refused = (source.storage == Storage::kNarrow && narrow == NarrowStorage::kRefused) ||
                            (source.are_words && !takes_words) || source.dtype != dtype;
    if (!source.is_there || is_refused) malformed_request("a matrix of another type");
  }

  /// Returns the range of bytes of a matrix in its source.
  template <class View>
  Bytes bytes_of(const Source& source, const View& view, size_t first) const {
    const int64_t offset = count_at(first);
    if (!has_elements(view)) return {};
    const int64_t element = stored_bytes(source.dtype, source.storage);
    return {offset * element, end_of(view, offset, source.bytes / element) * element};
  }

  template <class View>
  View matrix(const Source& source, const char* name, NarrowStorage narrow, size_t first, int64_t rows,
              int64_t cols) const {
    View view = layout<View>(first, rows, cols);
    require_type(source, narrow);
    view.storage = source.storage;
    view.memory = source.memory;
    const Bytes bytes = bytes_of(source, view, first);
    if (has_elements(view)) view.data = source.data + bytes.first;
    if (uses && source.known) uses->add(*source.known, name, access_of<View>, [&] { return bytes; });
    return view;
  }

  /// Records the use of a matrix that another thread reads. Most uses don't need the layout.
  template <class View>
  void note(const Source& source, const char* name, size_t first, size_t rows, size_t cols) const {
    if (!source.known) return;
    uses->add(*source.known, name, access_of<View>, [&] {
      return bytes_of(source, layout<View>(first, size_in(fields, rows), size_in(fields, cols)), first);
    });
  }

  template <class View>
  static constexpr Uses::Access access_of =
      std::is_same_v<View, MutableMatrixView> ? Uses::Access::kWrites : Uses::Access::kReads;
};

/// Number of fields of a matrix. The fields of the auxiliary outputs follow those of C0.
template <class F>
constexpr size_t kFieldsOfMatrix = F::c0Offset - F::cOffset;
template <class F>
constexpr size_t auxiliary_field(size_t index) {
  return F::c0Offset + (1 + index) * kFieldsOfMatrix<F>;
}
static_assert(auxiliary_field<MemberField>(0) == MemberField::witnessOffset);
constexpr size_t kFieldsOfLane = UserRequestField::aLane1Offset - UserRequestField::aLane0Offset;
constexpr size_t auxiliary_field_of_user(size_t index) {
  return UserRequestField::c0Lane0Offset + (kMaxUserLanes + index) * kFieldsOfLane;
}
static_assert(auxiliary_field_of_user(0) == UserRequestField::witnessOffset);

/// Reads the destination of an auxiliary output whose fields begin with `field`. The destination has no data if memory
/// is to be allocated for it.
MutableMatrixView auxiliary_result(const Reader& read, const Source& source, const char* name, size_t field, int64_t m,
                                   int64_t n, bool is_only_planned, bool is_on_device) {
  if (source.is_there) {
    if (is_on_device && !source.memory) malformed_request(name + std::string(" isn't on the device"));
    return read.matrix<MutableMatrixView>(source, name, NarrowStorage::kRefused, field, m, n);
  }
  if (is_only_planned) {
    // Non-null data marks a requested output. Planning doesn't write to it.
    static int32_t planned;
    return row_major<void*>(&planned, m, n);
  }
  if (!is_on_device) malformed_request(name + std::string(" has no memory"));
  bytes_of_matrices(read.batch, m, n, kAuxiliaryBytes);
  return row_major<void*>(nullptr, m, n);
}

}  // namespace

Source source_of(const Napi::Value& value, const Uses* uses) {
  if (is_missing(value)) return {};
  MemoryHandle* const handle = uses ? handle_of<MemoryHandle>(value) : nullptr;
  if (!handle) return source_in(typed_array(value));
  if (handle->device != uses->device()) malformed_request("a memory of another device");
  RegisteredMemory* const memory = uses->device()->known(handle->number);
  if (!memory) throw Error(ErrorCode::kDisposed, "a matrix has been disposed");
  return source_in(*memory);
}

Source source_in(RegisteredMemory& memory) {
  return {memory.data, memory.bytes, memory.memory, &memory, memory.dtype, memory.storage, false, true};
}

AuxiliarySources auxiliary_of(const Napi::Value& value, const Uses* uses) {
  AuxiliarySources sources;
  if (is_missing(value)) return sources;
  if (!value.IsArray()) malformed_request("expected an array of auxiliary outputs");
  for (uint32_t index = 0; index < kAuxiliaryCount; ++index) {
    sources[index] = source_of(value.As<Napi::Array>().Get(index), uses);
  }
  return sources;
}

Call read_call(const double* request) {
  using F = RequestField;
  const auto index = [&](size_t field, uint64_t count) { return index_in(request, field, count); };
  Call call;
  call.operation = operation_in(request);
  for (size_t index = 0; index < kAuxiliaryCount; ++index) {
    call.requests_auxiliary[index] = request[F::asksWitness + index] != 0;
    if (call.requests_auxiliary[index] && !is_idempotent(call.operation)) {
      malformed_request(kAuxiliaryResults[index].name + std::string(" of a semiring that has none"));
    }
  }
  call.is_only_planned = request[F::planOnly] != 0;
  call.may_wait = request[F::mayWait] != 0;
  call.request = request_in<F>(request);
  const auto& variants = engine_of_build().variants();
  if (request[F::variant] >= 0) call.request.where.variant = variants[index(F::variant, variants.size())];
  return call;
}

Places read_product(const Call& call, const Matrices& matrices, const double* member, bool is_on_device,
                    Problem& problem) {
  using F = MemberField;
  const Source &a = matrices[0], &b = matrices[1], &c = matrices[2], &c0 = matrices[3];
  const DataType dtype = call.operation.dtype;
  Places places;
  problem.operation = call.operation;
  problem.batch = size_in(member, F::batch);
  const int64_t m = size_in(member, F::m), n = size_in(member, F::n), k = size_in(member, F::k);
  const Reader read{member, dtype, problem.batch};
  problem.a = read.matrix<MatrixView>(a, "a", NarrowStorage::kTaken, F::aOffset, m, k);
  problem.b = read.matrix<MatrixView>(b, "b", NarrowStorage::kTaken, F::bOffset, k, n);
  if (c.is_there) {
    if (is_on_device && !c.memory) malformed_request("a result that isn't on the device");
    problem.c = read.matrix<MutableMatrixView>(c, "out", NarrowStorage::kRefused, F::cOffset, m, n);
  } else if (call.is_only_planned) {
    problem.c = read.layout<MutableMatrixView>(F::cOffset, m, n);
  } else if (is_on_device) {
    const int64_t element = element_bytes(dtype);
    bytes_of_matrices(problem.batch, m, n, element);
    problem.c = row_major<void*>(nullptr, m, n);
    places.c = read.count_at(F::cOffset) * element;
  } else {
    malformed_request("a product without a result");
  }
  if (c0.is_there) problem.c0 = read.matrix<MatrixView>(c0, "accumulate", NarrowStorage::kRefused, F::c0Offset, m, n);
  for (size_t index = 0; index < kAuxiliaryCount; ++index) {
    if (!call.requests_auxiliary[index]) continue;
    const auto& [view, name, none] = kAuxiliaryResults[index];
    const Source& source = matrices[kFirstAuxiliary + index];
    const Reader read_auxiliary{member, kAuxiliaryType, problem.batch};
    const size_t field = auxiliary_field<F>(index);
    problem.*view = auxiliary_result(read_auxiliary, source, name, field, m, n, call.is_only_planned, is_on_device);
    if (!source.is_there && !call.is_only_planned) {
      places.auxiliary[index] = read_auxiliary.count_at(field) * kAuxiliaryBytes;
    }
  }
  problem.structure = structure_in<F>(member);
  problem.keeps_c = member[F::keepsC] != 0;
  return places;
}

void use_matrices(Uses& uses, const Matrices& matrices, const double* member) {
  using F = MemberField;
  const Reader reader{member, {}, size_in(member, F::batch), &uses};
  reader.note<MatrixView>(matrices[0], "a", F::aOffset, F::m, F::k);
  reader.note<MatrixView>(matrices[1], "b", F::bOffset, F::k, F::n);
  reader.note<MutableMatrixView>(matrices[2], "out", F::cOffset, F::m, F::n);
  reader.note<MatrixView>(matrices[3], "accumulate", F::c0Offset, F::m, F::n);
  for (size_t index = 0; index < kAuxiliaryCount; ++index) {
    reader.note<MutableMatrixView>(matrices[kFirstAuxiliary + index], kAuxiliaryResults[index].name,
                                   auxiliary_field<F>(index), F::m, F::n);
  }
}

UserMatricesOf user_matrices_of(const Napi::Value& a, const Napi::Value& b, const Napi::Value& c, const Napi::Value& c0,
                                const Napi::Value& auxiliary, size_t lanes, const Uses* uses) {
  UserMatricesOf matrices;
  const Napi::Value given[] = {a, b, c, c0};
  for (size_t which = 0; which < std::size(given); ++which) {
    const Napi::Value& value = given[which];
    if (which >= 2 && is_missing(value)) continue;
    if (!value.IsArray() || value.As<Napi::Array>().Length() != lanes) malformed_request("an array of lanes");
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      Source& source = matrices.lanes[which][lane] = source_of(value.As<Napi::Array>().Get(lane), uses);
      if (!source.is_there) malformed_request("a lane that isn't there");
    }
    if (which == 2) matrices.has_c = true;
    if (which == 3) matrices.has_c0 = true;
  }
  matrices.auxiliary = auxiliary_of(auxiliary, uses);
  return matrices;
}

UserCall read_user_call(std::shared_ptr<const UserSemiring> semiring, const UserMatricesOf& matrices,
                        const double* fields, Uses* uses, bool is_explained) {
  using F = UserRequestField;
  UserCall call;
  UserProduct& product = call.product;
  product.semiring = std::move(semiring);
  product.batch = size_in(fields, F::batch);
  const int64_t m = size_in(fields, F::m), n = size_in(fields, F::n), k = size_in(fields, F::k);
  product.a[0].rows = m;
  product.a[0].cols = product.b[0].rows = k;
  product.b[0].cols = n;
  for (size_t lane = 0; !is_explained && lane < product.lane_count(); ++lane) {
    const Reader read{fields, product.dtype(lane), product.batch, uses, true};
    const auto at = [&](size_t first) { return first + lane * kFieldsOfLane; };
    const auto& [a, b, c, c0] = matrices.lanes;
    product.a[lane] = read.matrix<MatrixView>(a[lane], "a", NarrowStorage::kRefused, at(F::aLane0Offset), m, k);
    product.b[lane] = read.matrix<MatrixView>(b[lane], "b", NarrowStorage::kRefused, at(F::bLane0Offset), k, n);
    if (matrices.has_c0) {
      product.c0[lane] =
          read.matrix<MatrixView>(c0[lane], "accumulate", NarrowStorage::kRefused, at(F::c0Lane0Offset), m, n);
    }
    if (matrices.has_c) {
      if (uses && !c[lane].memory) malformed_request("a result that isn't on the device");
      product.c[lane] =
          read.matrix<MutableMatrixView>(c[lane], "out", NarrowStorage::kRefused, at(F::cLane0Offset), m, n);
    } else {
      if (!uses) malformed_request("a product without a result");
      bytes_of_matrices(product.batch, m, n, element_bytes(DataType::kInt32));
      call.makes_c = true;
    }
  }
  for (size_t index = 0; index < kAuxiliaryCount; ++index) {
    if (fields[F::asksWitness + index] == 0) continue;
    const auto& [view, name, none] = kAuxiliaryResults[index];
    if (!product.semiring->selective) malformed_request(name + std::string(" of a semiring that has none"));
    const Source& source = matrices.auxiliary[index];
    const Reader read{fields, kAuxiliaryType, product.batch, uses};
    product.*view =
        auxiliary_result(read, source, name, auxiliary_field_of_user(index), m, n, is_explained, uses != nullptr);
    call.creates_auxiliary[index] = !source.is_there && !is_explained;
  }
  product.structure = structure_in<F>(fields);
  product.keeps_c = fields[F::keepsC] != 0;
  call.request = request_in<F>(fields);
  return call;
}

std::atomic<double>* steps_done_in(double* report) {
  static_assert(sizeof(std::atomic<double>) == sizeof(double) && std::atomic<double>::is_always_lock_free,
                "a number that JavaScript reads can be counted in");
  return reinterpret_cast<std::atomic<double>*>(report + ReportField::stepsDone);
}

int64_t bytes_of_matrices(int64_t batch, int64_t rows, int64_t cols, int64_t element) {
  const __int128 bytes = static_cast<__int128>(batch) * rows * cols * element;
  if (bytes <= kMaxBytes) return static_cast<int64_t>(bytes);
  throw Error(ErrorCode::kOutOfMemory, "a matrix of " + std::to_string(batch) + " × " + std::to_string(rows) + " × " +
                                           std::to_string(cols) + " elements is larger than memory can be");
}

namespace {

/// The fields of a copy apart from its matrices.
struct CopyRequest {
  explicit CopyRequest(const double* by)
      : fields(by), rows(size_in(fields, CopyField::rows)), cols(size_in(fields, CopyField::cols)) {
    copy.dtype = dtype_in(fields, CopyField::dtype);
    copy.batch = size_in(fields, CopyField::batch);
    copy.value = fields[CopyField::value];
  }
  Reader reader(Uses* uses) const { return {fields, copy.dtype, copy.batch, uses}; }

  const double* const fields;
  const int64_t rows, cols;
  Copy copy;
};

/// Returns whether an element of the type can have this value, after rounding.
bool can_be(DataType dtype, double value) {
  return with_element(dtype, [&](auto element) {
    using Element = decltype(element);
    return std::is_floating_point_v<Element> || (value >= kLowest<Element> && value <= kHighest<Element>);
  });
}

}  // namespace

Copy read_upload(const Napi::Value& array, const double* fields) {
  CopyRequest read(fields);
  read.copy.array = read.reader(nullptr).matrix<MutableMatrixView>(
      source_of(array, nullptr), "the matrix", NarrowStorage::kTaken, CopyField::arrayOffset, read.rows, read.cols);
  read.copy.bytes =
      bytes_of_matrices(read.copy.batch, read.rows, read.cols, stored_bytes(read.copy.dtype, read.copy.array.storage));
  return read.copy;
}

Copy read_download(const Napi::Value& memory, const Napi::Value& array, const double* fields, Uses& uses) {
  CopyRequest read(fields);
  const Source source = source_of(memory, &uses);
  if (!source.memory) malformed_request("a matrix that isn't on the device");
  read.copy.memory = read.reader(&uses).matrix<MatrixView>(source, "the matrix", NarrowStorage::kTaken,
                                                           CopyField::memoryOffset, read.rows, read.cols);
  read.copy.array = read.reader(nullptr).matrix<MutableMatrixView>(
      source_of(array, nullptr), "out", NarrowStorage::kTaken, CopyField::arrayOffset, read.rows, read.cols);
  if (read.copy.array.storage != read.copy.memory.storage) malformed_request("a matrix of another type");
  return read.copy;
}

Copy read_fill(const double* fields) {
  CopyRequest read(fields);
  if (!can_be(read.copy.dtype, read.copy.value)) malformed_request("a value that the type doesn't have");
  read.copy.array = row_major<void*>(nullptr, read.rows, read.cols);
  read.copy.bytes = bytes_of_matrices(read.copy.batch, read.rows, read.cols, element_bytes(read.copy.dtype));
  return read.copy;
}

Problem read_combine(const Napi::Value& c, const Napi::Value& d, const double* fields, Uses& uses) {
  using F = RequestField;
  Problem problem;
  problem.operation = operation_in(fields);
  problem.batch = size_in(fields, F::batch);
  const int64_t rows = size_in(fields, F::m), cols = size_in(fields, F::n);
  const Reader read{fields, problem.operation.dtype, problem.batch, &uses};
  const Source to = source_of(c, &uses), from = source_of(d, &uses);
  if (!to.memory || !from.memory) malformed_request("a matrix that isn't on the device");
  problem.c = read.matrix<MutableMatrixView>(to, "the matrix", NarrowStorage::kRefused, F::cOffset, rows, cols);
  problem.b = read.matrix<MatrixView>(from, "d", NarrowStorage::kTaken, F::bOffset, rows, cols);
  return problem;
}

ClosureRequest read_closing(const Napi::Value& matrix, bool in_place, const Napi::Value& out, const double* fields,
                            Uses& uses) {
  using F = RequestField;
  ClosureRequest closing;
  closing.operation = operation_in(fields);
  if (!is_idempotent(closing.operation)) malformed_request("a closure over a semiring that has none");
  closing.batch = size_in(fields, F::batch);
  closing.in_place = in_place;
  const int64_t n = closing.n = size_in(fields, F::n);
  bytes_of_matrices(closing.batch, n, n, element_bytes(closing.operation.dtype));
  const Reader read{fields, closing.operation.dtype, closing.batch, &uses};
  const Source source = source_of(matrix, &uses), target = source_of(out, &uses);
  if (!source.memory || (target.is_there && !target.memory)) malformed_request("a matrix that isn't on the device");
  if (in_place) {
    closing.matrix = read.matrix<MutableMatrixView>(source, "the matrix", NarrowStorage::kRefused, F::aOffset, n, n);
    if (!is_row_major(closing.matrix, closing.batch)) malformed_request("a matrix that isn't row-major");
  } else {
    const auto from = read.matrix<MatrixView>(source, "the matrix", NarrowStorage::kTaken, F::aOffset, n, n);
    closing.matrix = {const_cast<void*>(from.data),
                      n,
                      n,
                      from.row_stride,
                      from.col_stride,
                      from.batch_stride,
                      from.storage,
                      from.memory};
  }
  if (target.memory)
    closing.out = read.matrix<MutableMatrixView>(target, "out", NarrowStorage::kRefused, F::cOffset, n, n);
  return closing;
}

MemoryCopy read_memory_copy(const Napi::Value& from, const Napi::Value& to, const double* fields, Uses& uses) {
  CopyRequest read(fields);
  const Source source = source_of(from, &uses), target = source_of(to, &uses);
  if (!source.memory || !target.memory) malformed_request("a matrix that isn't on the device");
  const Reader reader = read.reader(&uses);
  MemoryCopy copy{read.copy.dtype, read.copy.batch, {}, {}};
  copy.from = reader.matrix<MatrixView>(source, "the matrix", NarrowStorage::kRefused, CopyField::memoryOffset,
                                        read.rows, read.cols);
  copy.to = reader.matrix<MutableMatrixView>(target, "out", NarrowStorage::kRefused, CopyField::arrayOffset, read.rows,
                                             read.cols);
  return copy;
}

namespace {

/// Writes the fields of a report that don't depend on the problem.
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
  // Caches the latest variant: the products of a group have few variants, and a lookup takes longer than the rest of
  // the function.
  thread_local const Variant* latest = nullptr;
  thread_local size_t place = 0;
  if (latest != result.outcome.plan.variant) place = places.at(latest = result.outcome.plan.variant);
  report[F::variant] = static_cast<double>(place);
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
