// The laboratory's exports: times of kernels without transfers, microbenchmarks, occupancy. Each call that uses a GPU
// runs off the event loop and returns a promise. If CUDA can't be used, the promise is rejected with
// ERR_MPMML_NO_CUDA and the reason. Their arguments and results in TypeScript (lib/native.ts has the same types, and
// says what each field means):
//
//   labMeasure(request: LabMeasureRequest): Promise<LabMeasurement>
//   labMicrobenches(): LabMicrobench[]
//   labMicrobench(request: LabMicrobenchRequest): Promise<LabMicrobenchResult>
//   labBandwidths(): LabBandwidth[]
//   labBandwidth(request: LabBandwidthRequest): Promise<LabBandwidthResult>
//   labOccupancy(request: LabOccupancyRequest): Promise<LabOccupancy>
//   labFault(request: { device }): Promise<void>, for tests: a kernel that reads from where no memory is
//   labPeaks(): LabPeak[]
//
//   LabMeasureRequest    { variant, m, n, k, batch, repetitions, warmup, device, minimum, maximum, zeroFraction, seed }
//   LabMeasurement       { kernelMs[], prepareMs[], analysisMs[], path, operandSets, clockMHz }
//   LabMicrobench        { name, summary, instances: { x, y, k, max }[], parameters[] }
//   LabMicrobenchRequest { name, x, y, k, max, m, bsi, bsj, gsi, gsj, n, constant, repetitions, warmup, device }
//   LabMicrobenchResult  { ms[], clockMHz, multiprocessors, threadsPerBlock, threads, iterations, lanes,
//                          stepsPerIteration, operationsPerIteration, operationsPerThread, instructionsPerIteration,
//                          peakOperationsPerClock, peakReason }
//   LabBandwidth         { name, summary }
//   LabBandwidthRequest  { name, stride, repetitions, warmup, device }
//   LabBandwidthResult   { ms[], bytes, bufferBytes, clockMHz, multiprocessors }
//   LabOccupancyRequest  { device, variant } or { device, microbench: { name, x, y, k, max, m, bsi, bsj } }
//   LabOccupancy         { registersPerThread, sharedBytesPerBlock, localBytes, threadsPerBlock, activeThreads,
//                          activeWarps, activeBlocks, occupancyPercent }
//   LabPeak              { capability, add, minmax, multiplyAdd, fused, packed, issue, cores, tensor }
#pragma once
#include <napi.h>

namespace mpmml::addon {

/// Adds the laboratory's exports.
void export_lab(Napi::Env env, Napi::Object exports);

}  // namespace mpmml::addon
