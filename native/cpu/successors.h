// Next nodes by the distances (core/session/session.h) on the CPU.
#pragma once
#include "core/session/session.h"

namespace mpmml::cpu {

void mark_edges(const Successors& successors);
void find_successors(const Successors& successors);

}  // namespace mpmml::cpu
