// Folding and interaction of RNA (core/rna/rna.h) on the CPU.
#pragma once
#include <vector>

#include "core/rna/rna.h"

namespace mpmml::cpu {

/// One for each strand. Throws Error(kOutOfMemory), before it computes anything, if it needs more than the request's
/// max_bytes, and Error(kAborted) if it is cancelled.
std::vector<Folding> fold(const FoldRequest& request);

/// The same for two strands, which aren't empty.
Interactions interact(const InteractionRequest& request);

}  // namespace mpmml::cpu
