// Marker of functions that are compiled for GPUs too.
#pragma once

#if defined(__CUDACC__)
#define MPMML_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define MPMML_HOST_DEVICE inline __attribute__((always_inline))
#endif
