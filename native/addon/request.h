// What comes from JavaScript: four arrays, and two Float64Arrays whose fields are listed here and nowhere else. The
// addon exports the lists, and lib finds the fields by name. Flat arrays are used because reading a property of a
// JavaScript object costs about as much as multiplying two small matrices.
#pragma once
#include <napi.h>

#include <atomic>

#include "core/execute.h"

namespace mpmml::addon {

#define MPMML_MATRIX_FIELDS(X, matrix) \
  X(matrix##Offset) X(matrix##RowStride) X(matrix##ColStride) X(matrix##BatchStride)

/// Sizes, offsets and strides count elements. semiring, dtype, overflow, backend and variant are indices into the
/// exported lists semirings, dataTypes, overflowPolicies, backendChoices and variants (variant −1: none asked for).
/// planOnly and keepsC are 0 or 1. deviceMemory is the most bytes of device memory that the product may take; 0: no
/// limit.
// clang-format off
#define MPMML_REQUEST_FIELDS(X)                                                                             \
  X(batch) X(m) X(n) X(k)                                                                                   \
  MPMML_MATRIX_FIELDS(X, a) MPMML_MATRIX_FIELDS(X, b) MPMML_MATRIX_FIELDS(X, c) MPMML_MATRIX_FIELDS(X, c0) \
  X(semiring) X(dtype) X(overflow) X(backend) X(device) X(variant) X(planOnly) X(keepsC) X(deviceMemory)
// clang-format on

/// backend, variant and path are indices into the exported lists backends, variants and paths. device is −1 on the CPU.
/// Times are in milliseconds. stepsDone counts the k-steps (Problem::steps_done) while a product runs in the background.
#define MPMML_REPORT_FIELDS(X) \
  X(backend) X(device) X(variant) X(path) X(totalMs) X(kernelMs) X(analysisMs) X(h2dMs) X(d2hMs) X(stepsDone)

#define MPMML_FIELD(name) name,
struct RequestField {
  enum : size_t { MPMML_REQUEST_FIELDS(MPMML_FIELD) count };
};
struct ReportField {
  enum : size_t { MPMML_REPORT_FIELDS(MPMML_FIELD) count };
};
#undef MPMML_FIELD

/// The names in the order of the enumerators.
Napi::Array request_field_names(Napi::Env env);
Napi::Array report_field_names(Napi::Env env);

/// The elements of a typed array. Throws Napi::Error if `value` isn't one of that type with at least `least` elements.
/// This is one call of Node-API, because asking for each property separately takes as long as a small product.
void* elements_of(const Napi::Value& value, napi_typedarray_type type, size_t least);

struct Call {
  Problem problem;
  Request request;
};

/// Reads the arguments (a, b, c, c0, request). c may be null if the product is only planned. lib has checked them;
/// anything that would let a kernel touch memory outside the arrays is checked here again, and throws Napi::Error.
Call read_call(const Napi::CallbackInfo& info, const std::vector<const Variant*>& variants);

/// The report's field stepsDone, where threads count while JavaScript reads.
std::atomic<double>* steps_done_in(double* report);

void write_report(double* report, const Result& result, const std::vector<const Variant*>& variants, int device,
                  double total_ms);

}  // namespace mpmml::addon
