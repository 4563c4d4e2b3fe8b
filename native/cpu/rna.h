// Folding and interaction of RNA (core/rna/rna.h) on the CPU.
#pragma once
#include <vector>

#include "core/rna/rna.h"

namespace mpmml::cpu {

/// Folds each strand of the request. Throws Error(kOutOfMemory) before the computation if it needs more than the
/// request's max_bytes, and Error(kAborted) if it is cancelled.
std::vector<Folding> fold(const FoldRequest& request);

/// Computes the interaction of two strands, which must not be empty. Throws like fold().
Interactions interact(const InteractionRequest& request);

}  // namespace mpmml::cpu
