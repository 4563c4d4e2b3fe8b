// Next nodes by the distances (core/session/session.h) on the CPU.
#pragma once
#include "core/session/session.h"

namespace mpmml::cpu {

void mark_tight_edges(const NextNodes& successors);
void find_next_nodes(const NextNodes& successors);

}  // namespace mpmml::cpu
