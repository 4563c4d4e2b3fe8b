// Generates code from the variant table and from the exports of the addon (addon*.mjs):
//
//   node generate.mjs --native DIR --processor NAME --isas LIST [--cuda]
//                                        the instantiations, the registry and their CMake lists
//   node generate.mjs --typescript DIR   the TypeScript types: variant-names.ts, element-types.ts, native-interface.ts of what the addon
//                                        exports, expression-table.ts of the operations that semirings of one's own are written in, and
//                                        webgpu/variants.ts, the rows of the WebGPU backend
//
// LIST names the instruction sets of the CPU kernels, for example avx2,portable, or is `all`: those of the processor's family.
//
// Unchanged files aren't written, so that only changed files are compiled again.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { addonHeader, addonInterface, addonSource, enumeratorHeader, exportsHeader } from './addon-code.mjs'
import { closures } from './closures.mjs'
import { expressionHeader, expressionTable } from './expression-code.mjs'
import { listOf, sourceFiles } from './files.mjs'
import { loops } from './loops.mjs'
import { bandwidths, microbenchmarks } from './microbenchmarks.mjs'
import { allRows, identifier, refusedRows, semiringTypes } from './rows.mjs'
import { dataTypes, optionsBehindOthers, semirings, setsOf, storedTypes } from './table.mjs'
import { elementTypes, variantNames } from './typescript-code.mjs'
import { webGpuVariants } from './webgpu.mjs'

const noticeOf = (source) =>
  `Written by native/variants/generate.mjs from native/variants/${source}. Do not edit.`
const notice = noticeOf('table.mjs')
const noticeOfAddon = noticeOf('addon.mjs')
const noticeOfExpressions = noticeOf('expressions.mjs')

/** Headers that declare the kernel type of each backend. */
const kernelHeaders = { cpu: 'cpu/kernel.h', cuda: 'cuda/launch/kernel.h' }

function writeIfChanged(path, content) {
  if (existsSync(path) && readFileSync(path, 'utf8') === content) return
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, content)
}

function semiringHeader() {
  const ids = semirings.map((semiring) => identifier(semiring.name))
  const cases = semiringTypes().map(
    ({ semiring, dataType }) =>
      `  X(${identifier(semiring.name)}, ${semiring.struct}, ${dataType.id}, ${dataType.element})`,
  )
  return `// ${notice}
#pragma once
#include <cstdint>

namespace mpmml {

enum class SemiringId : uint8_t { ${ids.join(', ')} };

constexpr const char* kSemiringNames[] = {${semirings.map(({ name }) => `"${name}"`).join(', ')}};

constexpr const char* semiring_name(SemiringId id) { return kSemiringNames[static_cast<int>(id)]; }

/// The types of elements.
enum class DataType : uint8_t { ${dataTypes.map(({ id }) => id).join(', ')} };

constexpr const char* kDataTypeNames[] = {${dataTypes.map(({ name }) => `"${name}"`).join(', ')}};
constexpr int64_t kDataTypeBytes[] = {${dataTypes.map(({ element }) => `sizeof(${element})`).join(', ')}};

constexpr const char* data_type_name(DataType type) { return kDataTypeNames[static_cast<int>(type)]; }

/// Bytes of an element.
constexpr int64_t element_bytes(DataType type) { return kDataTypeBytes[static_cast<int>(type)]; }

}  // namespace mpmml

/// Calls X(semiring id, struct template, element type id, element type) for each pair that has a struct.
#define MPMML_FOR_EACH_SEMIRING_TYPE(X) \\
${cases.join(' \\\n')}
`
}

function elementTypesHeader() {
  const each = dataTypes.map(({ id, element }) => `  X(${id}, ${element})`)
  const arrays = storedTypes.map(
    ({ dataType, stored, storage }) =>
      `  X(${stored.name}, ${stored.element}, ${dataType.id}, ${dataType.element}, ${storage})`,
  )
  return `// ${notice}
#pragma once
#include <cstdint>

/// Calls X(element type id, element type) for each of them.
#define MPMML_FOR_EACH_ELEMENT_TYPE(X) \\
${each.join(' \\\n')}

/// Calls X(name, stored type, element type id, element type, Storage) for each way to store elements.
#define MPMML_FOR_EACH_STORED_TYPE(X) \\
${arrays.join(' \\\n')}
`
}

/** The source file of rows that are compiled together. */
function instantiation(rows) {
  const [{ family, isa }] = rows
  const definitions = rows.map(
    ({ identifier, expression }) => `extern const Kernel ${identifier};
const Kernel ${identifier} = ${isa ? `${isa.name}::` : ''}${expression};
`,
  )
  return `// ${notice}
#include "core/algebra/arithmetic.h"
#include "${kernelHeaders[family.backend]}"
${isa ? `#define MPMML_ISA ${isa.name}\n` : ''}${[...new Set(rows.map(({ header }) => `#include "${header}"`))].join('\n')}

namespace mpmml::${family.backend} {

${definitions.join('\n')}
}  // namespace mpmml::${family.backend}
`
}

/** A row as core/plan/variant.h defines it. */
function variantOf(row, paths, automatic) {
  const parameters = row.family.parameters.map((name) => {
    const value = row.parameters[name]
    return `{"${name}", "${value}", ${typeof value === 'number'}}`
  })
  return `{"${row.name}", "${row.family.name}", BackendKind::${row.family.backend === 'cuda' ? 'kCuda' : 'kCpu'},
        SemiringId::${identifier(row.semiring.name)}, DataType::${row.dataType.id},
        {${parameters.join(', ')}},
        ${paths}, ${automatic}}`
}

const registryRow = (row) =>
  `{${variantOf(row, `${row.identifier}.paths`, row.automatic)},
       &${row.identifier}}`

/**
 * Returns a source file with functions that list the definitions of other files. The lists are never
 * destroyed, because threads may still read them at the end of the process.
 */
const listing = (namespace, headers, declarations, ...lists) => `// ${notice}
${headers.map((header) => `#include "${header}"`).join('\n')}

namespace ${namespace} {

${declarations.map((declaration) => `${declaration};`).join('\n')}

${lists
  .map(
    ({ type, name, rows }) => `const std::vector<${type}>& ${name}() {
  static const auto& rows = *new std::vector<${type}>{
${rows.map((row) => `      ${row}`).join(',\n')}};
  return rows;
}
`,
  )
  .join('\n')}
}  // namespace ${namespace}
`

const registry = (backend, rows) =>
  listing(
    `mpmml::${backend}`,
    [kernelHeaders[backend]],
    rows.map((row) => `extern const Kernel ${row.identifier}`),
    { type: 'KernelVariant', name: 'kernel_variants', rows: rows.map(registryRow) },
  )

/**
 * Returns the header with the rows for which no kernel can be built. Error messages have the reasons, and
 * sweeps skip these rows.
 */
function refusedHeader() {
  const rows = refusedRows().map(
    (row) => `      {${variantOf(row, 'ArithmeticSet{}', false)}, "${row.refused}"}`,
  )
  return `// ${notice}
#pragma once
#include "core/plan/variant.h"

namespace mpmml {

struct RefusedVariant {
  Variant variant;
  const char* reason;
};

inline std::vector<RefusedVariant> refused_variants() {
  return {
${rows.join(',\n')}};
}

}  // namespace mpmml
`
}

/** All microbenchmarks of a header are one source file, because otherwise most time would go into reading headers. */
const microbenchmarkHeaders = [...new Set(microbenchmarks.map(({ header }) => header))]

const microbenchmarkFile = (header) => `microbench_${basename(header, '.cuh')}.cu`

const microbenchmarkFunction = ({ name }) => `microbench_${identifier(name)}`

const microbenchmarkInstances = (header) => `// ${notice}
#include "${header}"

namespace mpmml::microbench {

${microbenchmarks
  .filter((microbenchmark) => microbenchmark.header === header)
  .map(
    (microbenchmark) => `std::vector<Instance> ${microbenchmarkFunction(microbenchmark)}() {
  return {${microbenchmark.instances.map(({ template, max }) => `${template}::instance("${max}")`).join(',\n          ')}};
}
`,
  )
  .join('\n')}
}  // namespace mpmml::microbench
`

const microbenchmarkRegistry = () =>
  listing(
    'mpmml::microbench',
    ['lab/microbench/microbench.h'],
    microbenchmarks.map((row) => `std::vector<Instance> ${microbenchmarkFunction(row)}()`),
    {
      ...listOfMicrobenchmarks,
      rows: microbenchmarks.map(
        (row) => `{"${row.name}", "${row.summary}", ${microbenchmarkFunction(row)}()}`,
      ),
    },
  )

const bandwidthRegistry = () =>
  listing(
    'mpmml::microbench',
    bandwidths.map(({ header }) => header),
    [],
    {
      ...listOfBandwidths,
      rows: bandwidths.map(({ name, summary, template }) => `${template}::row("${name}", "${summary}")`),
    },
  )

const listOfMicrobenchmarks = { type: 'Microbenchmark', name: 'microbenchmarks', rows: [] }
const listOfBandwidths = { type: 'Bandwidth', name: 'bandwidths', rows: [] }

/** Returns the empty registry of an addon without the laboratory. */
const noMicrobenchmarks = () =>
  listing(
    'mpmml::microbench',
    ['lab/microbench/bandwidth.h', 'lab/microbench/microbench.h'],
    [],
    listOfMicrobenchmarks,
    listOfBandwidths,
  )

/** The closures of a semiring are one source file. */
const closureFile = (semiring) => `closure_${semiring.name.replaceAll('-', '')}.cu`

const closureSemirings = [...new Set(closures.map(({ semiring }) => semiring))]

const closureInstances = (semiring) => `// ${notice}
#include "cuda/launch/closure.cuh"

namespace mpmml::cuda {

${closures
  .filter((closure) => closure.semiring === semiring)
  .map(
    ({ name, template, dataType }) => `extern const ClosureKernel ${name};
const ClosureKernel ${name} =
    Family<${template}>::template kernel<${semiring.struct}<${dataType.element}>>(SemiringId::${identifier(semiring.name)}, DataType::${dataType.id});
`,
  )
  .join('\n')}
}  // namespace mpmml::cuda
`

const closureRegistry = () =>
  listing(
    'mpmml::cuda',
    ['cuda/launch/closure.h'],
    closures.map(({ name }) => `extern const ClosureKernel ${name}`),
    { type: 'ClosureKernel', name: 'closure_kernels', rows: closures.map(({ name }) => name) },
  )

const loopsName = ({ name }, isa) => `${name}_${isa.name}`

const loopsInstance = (row, isa) => `// ${notice}
#define MPMML_ISA ${isa.name}
#include "${row.header}"

namespace mpmml::cpu {

extern const ${row.type} ${loopsName(row, isa)};
const ${row.type} ${loopsName(row, isa)}${row.value(isa.name)};

}  // namespace mpmml::cpu
`

const loopsRegistry = (row, isas) =>
  listing(
    'mpmml::cpu',
    [row.declared],
    isas.map((isa) => `extern const ${row.type} ${loopsName(row, isa)}`),
    { type: row.type, name: row.list, rows: isas.map((isa) => loopsName(row, isa)) },
  )

/**
 * Returns the instruction sets that `requested` names, best first, and always the portable one of the processor
 * family.
 */
function chosenSets(requested, processor) {
  const known = setsOf(processor)
  const names = requested.split(/[;, ]+/).filter((name) => name !== '')
  const unknown = names.filter((name) => name !== 'all' && !known.some((isa) => isa.name === name))
  if (unknown.length > 0) {
    console.error(
      `mpmml: MPMML_CPU_ISAS must be native, all, or some of ${known.map(({ name }) => name).join(', ')}, but it names ${unknown.join(', ')}`,
    )
    process.exit(1)
  }
  return known.filter(
    ({ name, processor, isBaseline }) =>
      names.includes('all') || names.includes(name) || isBaseline || processor === 'any',
  )
}

const instructionSetHeader = (isas) => `// ${notice}
#pragma once

namespace mpmml::cpu {

/// The instruction sets that this build has kernels for, best first.
constexpr const char* kInstructionSets[] = {${isas.map(({ name }) => `"${name}"`).join(', ')}};

}  // namespace mpmml::cpu
`

function writeNative(directory, isas, withCuda) {
  const rows = allRows().filter((row) =>
    row.family.backend === 'cuda' ? withCuda : !row.isa || isas.includes(row.isa),
  )
  const files = new Map([
    ['instruction_sets.h', instructionSetHeader(isas)],
    ['semirings.h', semiringHeader()],
    ['element_types.h', elementTypesHeader()],
    ['refused.h', refusedHeader()],
    ['enumerators.h', enumeratorHeader(noticeOfAddon)],
    ['addon.h', addonHeader(noticeOfAddon)],
    ['exports.h', exportsHeader(noticeOfAddon)],
    ['expressions.h', expressionHeader(noticeOfExpressions)],
  ])
  const sources = { addon: [], cpu: [], cuda: [], hopper: [], products: [], lab: [] }
  const add = (list, file, content) => {
    files.set(file, content)
    sources[list].push(file)
  }
  add('addon', 'addon.cpp', addonSource(noticeOfAddon))
  const compiled = sourceFiles(rows)
  for (const { list, file, rows: together } of compiled) add(list, file, instantiation(together))
  for (const backend of withCuda ? ['cpu', 'cuda'] : ['cpu']) {
    const backendRows = rows.filter((row) => row.family.backend === backend)
    if (backend === 'cpu') add('cpu', 'cpu_registry.cpp', registry('cpu', backendRows))
    else {
      const products = backendRows.filter((row) => listOf(row) !== 'lab')
      add('products', 'products_registry.cpp', registry('cuda', products))
      add('lab', 'lab_registry.cpp', registry('cuda', backendRows))
    }
  }
  for (const row of loops) {
    for (const isa of isas) add('cpu', `${loopsName(row, isa)}.cpp`, loopsInstance(row, isa))
    add('cpu', `${row.name}_registry.cpp`, loopsRegistry(row, isas))
  }
  if (withCuda) {
    for (const header of microbenchmarkHeaders) {
      add('lab', microbenchmarkFile(header), microbenchmarkInstances(header))
    }
    add('lab', 'microbench_registry.cpp', microbenchmarkRegistry())
    add('products', 'no_microbench.cpp', noMicrobenchmarks())
    add('lab', 'bandwidths.cu', bandwidthRegistry())
    for (const semiring of closureSemirings) add('cuda', closureFile(semiring), closureInstances(semiring))
    add('cuda', 'closure_registry.cpp', closureRegistry())
  }
  const ofKernels = (isa) =>
    isa.processor === 'any' && isas.length > 1 ? [...isa.options, ...optionsBehindOthers] : isa.options
  const options = [
    ...compiled.filter(({ isa }) => isa).map(({ file, isa }) => [file, ofKernels(isa)]),
    ...loops.flatMap((row) =>
      isas.map((isa) => [
        `${loopsName(row, isa)}.cpp`,
        [...(row.asProducts ? ofKernels(isa) : isa.options), ...(row.options ?? [])],
      ]),
    ),
  ]
    .filter(([, flags]) => flags.length > 0)
    .map(
      ([file, flags]) =>
        `set_source_files_properties("\${CMAKE_CURRENT_LIST_DIR}/${file}" PROPERTIES COMPILE_OPTIONS "${flags.join(';')}")`,
    )
  const lists = Object.entries(sources).map(
    ([backend, names]) =>
      `set(MPMML_GENERATED_${backend.toUpperCase()}\n${names.map((name) => `  "\${CMAKE_CURRENT_LIST_DIR}/${name}"`).join('\n')})`,
  )
  files.set('sources.cmake', `# ${notice}\n${[...lists, ...options].join('\n')}\n`)
  for (const [name, content] of files) writeIfChanged(join(directory, name), content)
  for (const name of readdirSync(directory)) {
    if (!files.has(name)) rmSync(join(directory, name))
  }
}

function writeTypeScript(directory) {
  const write = (name, content) => writeIfChanged(join(directory, name), content)
  write('native-interface.ts', addonInterface(noticeOfAddon))
  write('expression-table.ts', expressionTable(noticeOfExpressions))
  write('element-types.ts', elementTypes(notice))
  write('variant-names.ts', variantNames(notice))
  write(join('webgpu', 'variants.ts'), webGpuVariants(noticeOf('webgpu.mjs')))
}

const { values } = parseArgs({
  options: {
    native: { type: 'string' },
    processor: { type: 'string' },
    isas: { type: 'string', default: 'all' },
    cuda: { type: 'boolean', default: false },
    typescript: { type: 'string' },
  },
})
if (values.native) writeNative(values.native, chosenSets(values.isas, values.processor), values.cuda)
if (values.typescript) writeTypeScript(values.typescript)
