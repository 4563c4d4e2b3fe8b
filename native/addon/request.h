// What comes from JavaScript: up to five arrays, and two Float64Arrays whose fields are listed here and nowhere else. The
// addon exports the lists, and lib finds the fields by name. Flat arrays are used because reading a property of a
// JavaScript object costs about as much as multiplying two small matrices.
#pragma once
#include <napi.h>

#include <array>
#include <atomic>
#include <optional>
#include <string>

#include "addon/device.h"
#include "core/execute.h"

namespace mpmml::addon {

#define MPMML_MATRIX_FIELDS(X, matrix) \
  X(matrix##Offset) X(matrix##RowStride) X(matrix##ColStride) X(matrix##BatchStride)

/// Sizes, offsets and strides count elements. semiring, dtype, overflow, backend and variant are indices into the
/// exported lists semirings, dataTypes, overflowPolicies, backendChoices and variants (variant −1: none asked for).
/// planOnly, keepsC, mayWait and asksWitness are 0 or 1. deviceMemory is the most bytes of device memory that the product may take; 0: no
/// limit. devices is a DeviceSet. backend, device and devices have no meaning for products on a device that has been
/// opened.
/// The five from aMemory on say where the matrices of a group's products are: the number of a memory, −1 minus the index of an array
/// in the list of arrays, or 0: nowhere. So native code asks JavaScript nothing per product.
/// If structured isn't 0, the fields after it are the bands of the structure, integers or Infinity.
// clang-format off
#define MPMML_REQUEST_FIELDS(X)                                                                             \
  X(batch) X(m) X(n) X(k)                                                                                   \
  MPMML_MATRIX_FIELDS(X, a) MPMML_MATRIX_FIELDS(X, b) MPMML_MATRIX_FIELDS(X, c) MPMML_MATRIX_FIELDS(X, c0) \
  MPMML_MATRIX_FIELDS(X, witness)                                                                           \
  X(semiring) X(dtype) X(overflow) X(backend) X(device) X(devices) X(variant) X(planOnly) X(keepsC) X(deviceMemory) X(mayWait) \
  X(asksWitness) X(aMemory) X(bMemory) X(cMemory) X(c0Memory) X(witnessMemory) \
  X(structured) X(aBelow) X(aAbove) X(bBelow) X(bAbove) X(cBelow) X(cAbove)
// clang-format on

/// A copy between an array and a memory. value is what new memory is filled with.
#define MPMML_COPY_FIELDS(X) \
  X(batch) X(rows) X(cols) X(dtype) X(value) MPMML_MATRIX_FIELDS(X, array) MPMML_MATRIX_FIELDS(X, memory)

/// backend, variant and path are indices into the exported lists backends, variants and paths. device is −1 on the CPU.
/// devices is the DeviceSet of those that computed the product together, and 0 if there was one.
/// Times are in milliseconds. stepsDone counts the k-steps (Problem::steps_done) while a product runs in the background.
/// steps are those that count, of all results of the product. gain is of a closure: −1, or the first item · n + node with which a cycle gains.
#define MPMML_REPORT_FIELDS(X) \
  X(backend)                   \
  X(device)                    \
  X(devices) X(variant) X(path) X(totalMs) X(kernelMs) X(analysisMs) X(h2dMs) X(d2hMs) X(stepsDone) X(gain) X(steps)

#define MPMML_FIELD(name) name,
struct RequestField {
  enum : size_t { MPMML_REQUEST_FIELDS(MPMML_FIELD) count };
};
struct CopyField {
  enum : size_t { MPMML_COPY_FIELDS(MPMML_FIELD) count };
};
struct ReportField {
  enum : size_t { MPMML_REPORT_FIELDS(MPMML_FIELD) count };
};
#undef MPMML_FIELD

/// The names in the order of the enumerators.
Napi::Array request_field_names(Napi::Env env);
Napi::Array copy_field_names(Napi::Env env);
Napi::Array report_field_names(Napi::Env env);

[[noreturn]] void malformed(Napi::Env env, const std::string& what);

/// The elements of a typed array. Throws Napi::Error if `value` isn't one of that type with at least `least` elements.
/// This is one call of Node-API, because asking for each property separately takes as long as a small product.
void* elements_of(const Napi::Value& value, napi_typedarray_type type, size_t least);

/// Keeps the arguments of a call alive, for its work.
Napi::ObjectReference keep(const Napi::CallbackInfo& info);

/// The flag in an Int32Array that gives work up.
std::atomic<int32_t>* cancel_of(const Napi::Value& value);

/// Where a matrix is: in an array, in a memory, or nowhere.
struct Source {
  Napi::Value array{};
  KnownMemory* memory = nullptr;

  bool is_nowhere() const { return !memory && array.IsEmpty(); }
};

/// What JavaScript gives for a matrix; nothing if it is null or undefined. With `uses` it may be a memory.
Source source_of(const Napi::Value& value, const Uses* uses);

/// A product's matrices, in the order of their fields: a, b, c, c0, witness.
using Matrices = std::array<Source, 5>;

/// What a request says beside the problem.
struct Call {
  Request request;
  bool is_only_planned = false;  ///< nothing is computed
  bool may_wait = false;         ///< whether JavaScript's thread may wait a moment for it
  /// C was null: it is row-major from this byte of the memory that the call makes for results.
  std::optional<int64_t> c_at{};
  /// The same for the witness, in a memory of its own.
  std::optional<int64_t> witness_at{};
};

/// Reads a product. lib has checked it; anything that would let a kernel touch memory outside the matrices is checked
/// here again. c and the witness may be null if the product is only planned. With `uses` matrices may be in
/// memories of its device, and c and the witness are, or are null. Throws Napi::Error, and Error if a memory is gone.
Call read_call(Napi::Env env, const Matrices& matrices, const double* fields, Uses* uses, Problem& problem);

/// The report's field stepsDone, where threads count while JavaScript reads.
std::atomic<double>* steps_done_in(double* report);

/// A copy between an array and a memory, or a new memory that is filled.
struct Copy {
  DataType dtype{};
  int64_t batch = 0;
  MutableMatrixView array;  ///< without data if there is no array
  MatrixView memory;
  double value = 0;
  int64_t bytes = 0;  ///< of new memory

  bool has_elements() const { return batch > 0 && array.rows > 0 && array.cols > 0; }
  /// Into how many pieces new memory may be divided.
  int64_t units() const { return batch > 1 ? batch : array.rows; }
};

/// The bytes of row-major matrices. Throws Error if there can't be as many.
int64_t bytes_of_matrices(int64_t batch, int64_t rows, int64_t cols, int64_t element);

struct Closing {
  Operation operation;
  int64_t batch = 0;
  int64_t n = 0;
  bool in_place = false;
  MutableMatrixView matrix;  ///< written only if it is closed in place
  MutableMatrixView out;     ///< of no memory if nothing was given

  bool has_elements() const { return batch > 0 && n > 0; }
};

struct MemoryCopy {
  DataType dtype{};
  int64_t batch = 0;
  MatrixView from;
  MutableMatrixView to;
};

/// These throw as read_call() does.
Copy read_upload(const Napi::Value& array, const Napi::Value& request);
Copy read_download(const Napi::Value& memory, const Napi::Value& array, const Napi::Value& request, Uses& uses);
Copy read_fill(const Napi::Value& request);
/// C and D, which is the product's B.
Problem read_combine(const Napi::Value& c, const Napi::Value& d, const Napi::Value& request, Uses& uses);

/// A closure of the matrix that the request has as a, which is square. With `in_place` it becomes its own closure, and must
/// be row-major. `out` may be null; the request has it as c.
Closing read_closing(const Napi::Value& matrix, bool in_place, const Napi::Value& out, const Napi::Value& request,
                     Uses& uses);

/// From a memory to a memory: `to` has the layout of the request's array.
MemoryCopy read_memory_copy(const Napi::Value& from, const Napi::Value& to, const Napi::Value& request, Uses& uses);

void write_report(double* report, const Problem& problem, const Result& result, double total_ms);

}  // namespace mpmml::addon
