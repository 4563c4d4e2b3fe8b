// Errors of native work, and their conversion to JavaScript errors.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

namespace mpmml::addon {

/// Code and message of an error, to be passed to the JavaScript thread.
struct Failure {
  std::string code;  ///< ERR_MPMML_…, empty for an unexpected error
  std::string message;
  std::optional<size_t> product{};  ///< index of the failed product of a group, if known
};

/// Returns the exception that is being handled, which may be a Failure.
Failure current_failure();

}  // namespace mpmml::addon
