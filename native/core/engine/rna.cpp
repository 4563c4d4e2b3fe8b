// Folding and interaction of RNA.
#include "core/engine/execute.h"

namespace mpmml {

Backend& Engine::choose_rna(double steps, const Request& request) {
  // Minimum number of steps for a GPU. With fewer steps the CPU is done before a GPU has begun, so GPUs aren't even
  // probed.
  constexpr double kWorthGpu = 1e9;
  if (!is_gpu_demanded(request) && steps <= kWorthGpu) return processor();
  return needs_processor(request) ? processor() : gpu();
}

template <class Query, class Answer>
Computed<Answer> Engine::compute_rna(const Query& asked, const Request& request,
                                     Answer (Backend::*compute)(const Query&, const Placement&)) {
  const auto computed_by = [&](Backend& backend) {
    return Computed<Answer>{(backend.*compute)(asked, request.where), backend.kind(), request.where.device};
  };
  Backend& backend = choose_rna(steps_of(asked), request);
  if (&backend == &processor() || is_gpu_demanded(request)) return computed_by(backend);
  try {
    return computed_by(backend);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::kOutOfMemory) throw;
  }
  return computed_by(processor());
}

bool Engine::is_for_gpu(const FoldRequest& asked, const Request& request) {
  return &choose_rna(steps_of(asked), request) != &processor();
}

bool Engine::is_for_gpu(const InteractionRequest& asked, const Request& request) {
  return &choose_rna(steps_of(asked), request) != &processor();
}

Computed<std::vector<Folding>> Engine::fold(const FoldRequest& asked, const Request& request) {
  return compute_rna(asked, request, &Backend::fold);
}

Computed<Interactions> Engine::interact(const InteractionRequest& asked, const Request& request) {
  return compute_rna(asked, request, &Backend::interact);
}

}  // namespace mpmml
