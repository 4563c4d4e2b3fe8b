// The CPU's loops that aren't kernels of products. Each is compiled for each instruction set, in a separate
// file.

/**
 * - `name` begins the names of the files and of the constants, of which there is one for each instruction set.
 * - `header` defines the loops, for the instruction set MPMML_ISA. `type` is the type of the struct with the
 *   loops, and `value` initializes it.
 * - `list` is the function that returns the loops of the build, best first; `declared` is its header.
 * - `options`: compiler options in addition to those of the instruction set.
 * - `asProducts`: whether the portable loops are compiled with the options of portable products
 *   (optionsBehindOthers).
 */
export const loops = [
  {
    name: 'peak_benchmark',
    header: 'lab/cpu/peak_benchmark.h',
    type: 'PeakBenchmark',
    value: (isa) => ` = ${isa}::peak_benchmark("${isa}")`,
    list: 'peak_benchmarks',
    declared: 'lab/cpu/peak_benchmarks.h',
  },
  {
    name: 'pivots',
    header: 'cpu/pivot_kernel.h',
    type: 'PivotKernels',
    value: (isa) => `{"${isa}", ${isa}::find_pivot_kernel}`,
    list: 'pivot_kernels',
    declared: 'cpu/pivots.h',
    asProducts: true,
  },
  {
    name: 'rna',
    header: 'cpu/rna_kernel.h',
    type: 'RnaKernels',
    value: (isa) => `{"${isa}", ${isa}::Rna<int16_t>::kernel(), ${isa}::Rna<int32_t>::kernel()}`,
    list: 'rna_kernels',
    declared: 'cpu/rna_kernels.h',
  },
  {
    name: 'user',
    header: 'cpu/user_kernel.h',
    type: 'UserKernels',
    value: (isa) => `{"${isa}", ${isa}::find_loop, ${isa}::find_tile}`,
    list: 'user_kernels',
    declared: 'cpu/user_kernels.h',
    asProducts: true,
    // A product and a sum are rounded separately, without contraction to a multiply-add.
    options: ['-ffp-contract=off', '-fno-math-errno', '-fno-trapping-math'],
  },
]
