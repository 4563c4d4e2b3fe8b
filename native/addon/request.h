// Products, copies and closures as flat arrays of fields ask for them (native/variants/addon.mjs).
#pragma once
#include <napi.h>

#include <array>
#include <atomic>
#include <optional>

#include "addon/device.h"
#include "core/engine/execute.h"
#include "generated/addon.h"

namespace mpmml::addon {

/// Where a matrix is: in an array, in a memory, or nowhere.
struct Source {
  char* data = nullptr;
  int64_t bytes = 0;
  Memory* memory = nullptr;           ///< null: it is in an array
  RegisteredMemory* known = nullptr;  ///< of the memory; only JavaScript's thread may use it, before the call returns
  DataType dtype{};
  Storage storage{};
  bool are_words = false;  ///< whether the array is a Uint32Array
  bool is_there = false;
};

/// What JavaScript gives for a matrix; nothing if it is null or undefined. With `uses` it may be a memory. Throws Error if that is
/// gone.
Source source_of(const Napi::Value& value, const Uses* uses);
/// A matrix in a memory.
Source source_in(RegisteredMemory& memory);

/// The further results of a product; those that are nowhere are made or not asked for.
using FurtherSources = std::array<Source, kFurtherCount>;
/// What JavaScript gives for them: null or an array.
FurtherSources further_of(const Napi::Value& value, const Uses* uses);

/// A product's matrices, in the order of their fields: a, b, c, c0, and its further results.
constexpr size_t kFirstFurther = 4;
using Matrices = std::array<Source, kFirstFurther + kFurtherCount>;

/// What the products of a call have in common.
struct Call {
  Request request;
  Operation operation;
  std::array<bool, kFurtherCount> asks_further{};
  bool is_only_planned = false;  ///< nothing is computed
  bool may_wait = false;         ///< whether JavaScript's thread may wait a moment for it
};

/// Where a product's results go that have no memory yet.
struct Places {
  /// C was null: it is row-major from this byte of the memory that the call makes for results.
  std::optional<int64_t> c{};
  /// The same for each of the further results, in a memory of its own.
  std::array<std::optional<int64_t>, kFurtherCount> further{};
};

/// Reads what a request has beside the product's own fields. lib has checked it; anything that would let a kernel touch memory
/// outside the matrices is checked here again, and in read_product(). Both may be called on any thread.
Call read_call(const double* request);

/// Reads a product of the call. Results may be nowhere if the product is only planned. On a device matrices may be in memories of
/// it, and results are, or are nowhere.
Places read_product(const Call& call, const Matrices& matrices, const double* member, bool is_on_device,
                    Problem& problem);

/// Notes which memories the product uses. On JavaScript's thread.
void use_matrices(Uses& uses, const Matrices& matrices, const double* member);

/// The matrices of a product over a semiring of one's own, for each lane, and its further results.
struct UserMatricesOf {
  std::array<UserLanes<Source>, 4> lanes{};  ///< a, b, c, c0
  bool has_c = false, has_c0 = false;
  FurtherSources further{};
};
/// What JavaScript gives for them.
UserMatricesOf user_matrices_of(const Napi::Value& a, const Napi::Value& b, const Napi::Value& c, const Napi::Value& c0,
                                const Napi::Value& further, size_t lanes, const Uses* uses);

/// Reads a product over a semiring of one's own; see read_product(). If a result was null, the call makes memory for it, and the
/// product has none yet. With `is_explained` there are no matrices at all.
struct UserCall {
  UserProduct product;
  Request request;
  bool makes_c = false;
  std::array<bool, kFurtherCount> makes_further{};
};
UserCall read_user_call(std::shared_ptr<const UserSemiring> semiring, const UserMatricesOf& matrices,
                        const double* fields, Uses* uses, bool is_explained = false);

void write_user_report(double* report, const UserProduct& product, const Result& result, double total_ms);

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

/// These throw as source_of() and read_product() do.
Copy read_upload(const Napi::Value& array, const double* fields);
Copy read_download(const Napi::Value& memory, const Napi::Value& array, const double* fields, Uses& uses);
Copy read_fill(const double* fields);
/// C and D, which is the product's B.
Problem read_combine(const Napi::Value& c, const Napi::Value& d, const double* fields, Uses& uses);

/// A closure of the matrix that the request has as a, which is square. With `in_place` it becomes its own closure, and must
/// be row-major. `out` may be null; the request has it as c.
Closing read_closing(const Napi::Value& matrix, bool in_place, const Napi::Value& out, const double* fields,
                     Uses& uses);

/// From a memory to a memory: `to` has the layout of the request's array.
MemoryCopy read_memory_copy(const Napi::Value& from, const Napi::Value& to, const double* fields, Uses& uses);

void write_report(double* report, const Problem& problem, const Result& result, double total_ms);

}  // namespace mpmml::addon
