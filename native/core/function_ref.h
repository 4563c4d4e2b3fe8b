// A reference to a function of any type, for parameters: it costs no allocation, unlike std::function.
#pragma once
#include <type_traits>
#include <utility>

namespace mpmml {

template <class Signature>
class FunctionRef;

/// Refers to a function without owning it, so the function must outlive the reference.
template <class Result, class... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <class Function, class = std::enable_if_t<!std::is_same_v<std::decay_t<Function>, FunctionRef>>>
  FunctionRef(Function&& function)
      : function_(const_cast<void*>(static_cast<const void*>(&function))),
        call_([](void* function, Arguments... arguments) -> Result {
          return (*static_cast<std::remove_reference_t<Function>*>(function))(std::forward<Arguments>(arguments)...);
        }) {}

  Result operator()(Arguments... arguments) const { return call_(function_, std::forward<Arguments>(arguments)...); }

 private:
  void* function_;
  Result (*call_)(void*, Arguments...);
};

}  // namespace mpmml
