// Writes what follows from the variant table for lib: its types of elements and of names.
import { bandwidths, microbenchmarks } from './microbenchmarks.mjs'
import { allRows } from './rows.mjs'
import { dataTypes, instructionSets, semirings, storedTypes } from './table.mjs'
import { webGpuRows } from './webgpu.mjs'

/** lib/element-types.ts: what lib must know of element types: their arrays, as types and as values. */
export function elementTypes(notice) {
  const narrow = storedTypes.filter(({ storage }) => storage === 'kNarrow')
  const member = ({ name, what, array }) => `  /** ${what} */\n  ${name}: ${array}`
  const object = (types) => `{ ${types.map(({ name, array }) => `${name}: ${array}`).join(', ')} }`
  const names = (types) => types.map(({ name }) => `'${name}'`).join(' | ')
  return `// ${notice}

/** The array that holds each element type. */
export interface ArrayTypes {
${dataTypes.map(member).join('\n')}
}

/** The arrays that {@link pinned} makes, by their element types. */
export interface PinnedArrays extends ArrayTypes {
${narrow.map(({ stored }) => member(stored)).join('\n')}
}

/** An array of elements: its type is the element type of the matrix. */
export type ElementArray = ${dataTypes.map(({ array }) => array).join(' | ')}

/** An array that holds operands in less memory. */
export type NarrowArray = ${narrow.map(({ stored }) => stored.array).join(' | ')}

/**
 * The array of an operand.
${narrow
  .map(
    ({
      stored,
      dataType,
    }) => ` * An ${stored.array} holds ${dataType.name} elements in half the memory. Its least value is the zero of semirings whose ⊕ is a maximum
 * (max-plus, max-min), its greatest value the zero of semirings whose ⊕ is a minimum (min-plus, min-max); all other values mean themselves.
`,
  )
  .join('')} */
export type OperandArray = ElementArray | ${narrow.map(({ stored }) => stored.array).join(' | ')}

/** The array of the result of operands in arrays of this type. */
export type ElementsOf<Data extends OperandArray> = Data extends ElementArray
  ? Data
  : ${narrow.map(({ stored, dataType }) => `Data extends ${stored.array} ? ${dataType.array} : `).join('')}never

/** An array of this type whose memory is an ArrayBuffer, as that of all arrays is that the library makes or takes. */
export type OrdinaryArray<Data> = ${[...new Set(storedTypes.map(({ stored }) => stored.array))].map((array) => `Data extends ${array} ? ${array}<ArrayBuffer> : `).join('')}Data

/** The types of arrays, in memory of any kind, that arrays of type Data are of. */
export type KindOf<Data, Kind = OperandArray> = Kind extends unknown ? (Data extends Kind ? Kind : never) : never

/** The arrays of operands that go with elements in arrays of this type. */
export type OperandsOf<Data> = ${narrow.map(({ stored, dataType }) => `Data extends ${dataType.array} ? Data | ${stored.array} : `).join('')}Data

/** Types that elements may be stored in. */
export type StoredType = ${names(storedTypes.map(({ stored }) => stored))}

/** The array of each of them. */
export const storedArrays = ${object(storedTypes.map(({ stored }) => stored))} as const

/** The element types that the narrow ones stand for. */
export const widened = { ${narrow.map(({ stored, dataType }) => `${stored.name}: '${dataType.name}'`).join(', ')} } as const
`
}

function kernelsOf({ summary, instances }) {
  const each = (value) => [...new Set(instances.map(value))]
  return {
    summary,
    tiles: each(({ x, y }) => `${x}x${y}`),
    depths: each(({ k }) => k),
    maxima: each(({ max }) => max),
  }
}

const union = (names) => names.map((name) => `\n  | '${name}'`).join('')

/** lib/variant-names.ts */
export const variantNames = (notice) => `// ${notice}

/** The name of a kernel variant. \`variants()\` lists those that a build has. */
export type VariantName =${union([...allRows(), ...webGpuRows].map((row) => row.name))}

/** The name of a semiring. */
export type Semiring =${union(semirings.map(({ name }) => name))}

/** The name of an element type. */
export type DataType =${union(dataTypes.map(({ name }) => name))}

/** The instruction sets that the CPU backend has micro-kernels for. */
export type InstructionSet =${union(instructionSets.map(({ name }) => name))}

/** Summary and compile-time parameters of a microbenchmark. */
export interface MicrobenchKernels {
  /** Steps of an iteration. */
  readonly summary: string
  /** X × Y, such as '8x8'. */
  readonly tiles: readonly string[]
  /** K: iterations between two reads of shared memory. */
  readonly depths: readonly number[]
  /** How the maximum is written: 'ternary', 'intrinsic'. */
  readonly maxima: readonly string[]
}

/**
 * All microbenchmarks by their names, whether a build has them or not.
 *
 * @example
 * console.log(microbenchKernels['shared-one'].depths.join()) // 10,5,1
 */
export const microbenchKernels: Readonly<Record<string, MicrobenchKernels>> = {
${microbenchmarks.map((row) => `  '${row.name}': ${JSON.stringify(kernelsOf(row))},`).join('\n')}
}

/**
 * The names of all microbenchmarks, whether a build has them or not.
 *
 * @example
 * console.log(microbenchNames.slice(0, 3).join()) // reg-reg,shared-one,shared-both
 */
export const microbenchNames: readonly string[] = Object.keys(microbenchKernels)

/** The names of all bandwidths that can be measured, whether a build has them or not. */
export const bandwidthNames: readonly string[] = [${bandwidths.map(({ name }) => `'${name}'`).join(', ')}]
`
