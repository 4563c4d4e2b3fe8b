// What went wrong, on its way to JavaScript.
#pragma once
#include <cstddef>
#include <optional>
#include <string>

namespace mpmml::addon {

/// What went wrong, to be carried to the JavaScript thread.
struct Failure {
  std::string code;  ///< ERR_MPMML_…, empty for an unexpected error
  std::string message;
  std::optional<size_t> product{};  ///< which of several products it is of, if that is known
};

/// The exception that is being handled, which may be a Failure.
Failure current_failure();

}  // namespace mpmml::addon
