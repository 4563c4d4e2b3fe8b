// Products, copies and closures from requests, which are flat arrays of fields (native/variants/addon.mjs).
#pragma once
#include <napi.h>

#include <array>
#include <atomic>
#include <optional>

#include "addon/device.h"
#include "core/engine/execute.h"
#include "generated/addon.h"

namespace mpmml::addon {

/// Location of a matrix: in an array, in a memory, or nowhere.
struct Source {
  char* data = nullptr;
  int64_t bytes = 0;
  Memory* memory = nullptr;           ///< null: the matrix is in an array
  RegisteredMemory* known = nullptr;  ///< of the memory; only JavaScript's thread may use it, before the call returns
  DataType dtype{};
  Storage storage{};
  bool are_words = false;  ///< whether the array is a Uint32Array
  bool is_there = false;
};

/// Returns the location of a matrix that JavaScript passes; empty if it is null or undefined. With `uses` it may be a
/// memory. Throws Error if the memory has been disposed.
Source source_of(const Napi::Value& value, const Uses* uses);
/// Returns the location of a matrix in a memory.
Source source_in(RegisteredMemory& memory);

/// Auxiliary outputs of a product. Outputs without a location are allocated or not requested.
using AuxiliarySources = std::array<Source, kAuxiliaryCount>;
/// Returns the locations of the auxiliary outputs, from null or an array.
AuxiliarySources auxiliary_of(const Napi::Value& value, const Uses* uses);

/// A product's matrices, in the order of their fields: a, b, c, c0, and its auxiliary outputs.
constexpr size_t kFirstAuxiliary = 4;
using Matrices = std::array<Source, kFirstAuxiliary + kAuxiliaryCount>;

/// Options that the products of a call share.
struct Call {
  Request request;
  Operation operation;
  std::array<bool, kAuxiliaryCount> requests_auxiliary{};
  bool is_only_planned = false;  ///< plan only, without computation
  bool may_wait = false;         ///< whether JavaScript's thread may wait briefly for the result
};

/// Destinations of a product's results that have no memory yet.
struct Places {
  /// If C was null, it is row-major from this byte on in the memory that the call allocates for results.
  std::optional<int64_t> c{};
  /// First byte of each auxiliary output, in a separate memory per kind.
  std::array<std::optional<int64_t>, kAuxiliaryCount> auxiliary{};
};

/// Reads the fields of a request apart from those of products. lib has validated them. Fields that could make a kernel
/// access memory outside of the matrices are checked again here and in read_product(). Both may be called on any
/// thread.
Call read_call(const double* request);

/// Reads a product of the call. Results may have no location if the product is only planned. On a device, operands may
/// be in memories of the device. Results must be there, or have no location.
Places read_product(const Call& call, const Matrices& matrices, const double* member, bool is_on_device,
                    Problem& problem);

/// Records the memories that the product uses. Called on JavaScript's thread.
void use_matrices(Uses& uses, const Matrices& matrices, const double* member);

/// The matrices of a product over a custom semiring, for each lane, and its auxiliary outputs.
struct UserMatricesOf {
  std::array<UserLanes<Source>, 4> lanes{};  ///< a, b, c, c0
  bool has_c = false, has_c0 = false;
  AuxiliarySources auxiliary{};
};
/// Returns the locations of the matrices that JavaScript passes.
UserMatricesOf user_matrices_of(const Napi::Value& a, const Napi::Value& b, const Napi::Value& c, const Napi::Value& c0,
                                const Napi::Value& auxiliary, size_t lanes, const Uses* uses);

/// A product over a custom semiring; see read_product(). If a result was null, the call allocates memory for it later.
/// With `is_explained` there are no matrices.
struct UserCall {
  UserProduct product;
  Request request;
  bool makes_c = false;
  std::array<bool, kAuxiliaryCount> creates_auxiliary{};
};
UserCall read_user_call(std::shared_ptr<const UserSemiring> semiring, const UserMatricesOf& matrices,
                        const double* fields, Uses* uses, bool is_explained = false);

void write_user_report(double* report, const UserProduct& product, const Result& result, double total_ms);

/// Returns the report's field stepsDone, which threads update while JavaScript reads it.
std::atomic<double>* steps_done_in(double* report);

/// A copy between an array and a memory, or a fill of new memory.
struct Copy {
  DataType dtype{};
  int64_t batch = 0;
  MutableMatrixView array;  ///< without data if there is no array
  MatrixView memory;
  double value = 0;
  int64_t bytes = 0;  ///< of new memory

  bool has_elements() const { return batch > 0 && array.rows > 0 && array.cols > 0; }
  /// Returns the number of pieces into which new memory may be divided.
  int64_t units() const { return batch > 1 ? batch : array.rows; }
};

/// Returns the bytes of row-major matrices. Throws Error if they exceed the address space.
int64_t bytes_of_matrices(int64_t batch, int64_t rows, int64_t cols, int64_t element);

struct ClosureRequest {
  Operation operation;
  int64_t batch = 0;
  int64_t n = 0;
  bool in_place = false;
  MutableMatrixView matrix;  ///< written only for a closure in place
  MutableMatrixView out;     ///< without memory if none was passed

  bool has_elements() const { return batch > 0 && n > 0; }
};

struct MemoryCopy {
  DataType dtype{};
  int64_t batch = 0;
  MatrixView from;
  MutableMatrixView to;
};

/// Reads an upload. This and the following functions throw like source_of() and read_product().
Copy read_upload(const Napi::Value& array, const double* fields);
Copy read_download(const Napi::Value& memory, const Napi::Value& array, const double* fields, Uses& uses);
Copy read_fill(const double* fields);
/// Reads C and D as C0 and B of a product.
Problem read_combine(const Napi::Value& c, const Napi::Value& d, const double* fields, Uses& uses);

/// Reads a closure of the square matrix `a` of the request. With `in_place` the closure replaces the matrix, which must
/// be row-major. `out`, which may be null, is `c` of the request.
ClosureRequest read_closing(const Napi::Value& matrix, bool in_place, const Napi::Value& out, const double* fields,
                            Uses& uses);

/// Reads a copy between memories. `to` has the layout of the request's array.
MemoryCopy read_memory_copy(const Napi::Value& from, const Napi::Value& to, const double* fields, Uses& uses);

void write_report(double* report, const Problem& problem, const Result& result, double total_ms);

}  // namespace mpmml::addon
