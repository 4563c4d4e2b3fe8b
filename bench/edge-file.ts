/** Reads edge lists in CSV files as matrices. */
import { combineDuplicates, type SparseEntries } from '../lib/files.js'
import { readGraph } from '../lib/graph.js'
import {
  type DataType,
  type ElementArray,
  type Matrix,
  matrix as matrixOf,
  ResourceError,
  type Semiring,
  zeroOf,
} from '../lib/index.js'
import { NUMBER_NODES, namingNodes } from './csv-kind.js'
import { arrays, dtypeOf, typesOf } from './dtype.js'
import { inputPath } from './pipes.js'

/** Converts weights to the first of `types` that represents all of them exactly. */
export function inType(data: ElementArray, types: readonly DataType[], isList: boolean): ElementArray {
  const dtype = dtypeOf(data)
  if (types.includes(dtype)) return data
  // Over or-and each listed edge is 1, whatever its weight.
  if (types.every((type) => type === 'uint8')) return isList ? new Uint8Array(data.length).fill(1) : data
  return dtype === 'int32' && types.includes('float64') ? Float64Array.from(data) : data
}

/** Reads edges as the entries of a sparse matrix. */
export async function readEdges(
  name: string,
  options: { signal: AbortSignal; onProgress: (progress: { done: number }) => void },
): Promise<SparseEntries> {
  const { nodes, from, to, weight } = await namingNodes(name, NUMBER_NODES, () =>
    readGraph(inputPath(name), { ...options, format: 'csv' }),
  )
  return { shape: [nodes, nodes], row: from, col: to, value: weight }
}

/**
 * Returns the matrix of the entries, with the semiring's zero elsewhere. Entries with equal positions are
 * combined by ⊕.
 */
export function dense(
  entries: SparseEntries,
  semiring: Semiring,
  requested: DataType | undefined,
): Matrix<ElementArray> {
  const [rows, cols] = entries.shape
  const types = requested === undefined ? typesOf(semiring) : [requested]
  const list = combineDuplicates(entries, semiring)
  const value = inType(list.value, types, true)
  const dtype = dtypeOf(value)
  const type = types.includes(dtype) ? dtype : types[0]!
  const weight = exactly(value, type)
  const data = emptyArray(type, rows * cols).fill(zeroOf(semiring, type))
  for (let e = 0; e < list.row.length; e++) data[list.row[e]! * cols + list.col[e]!] = weight[e]!
  return matrixOf(rows, cols, data)
}

/** Converts values to another type. Throws an error if a value can't be represented exactly. */
function exactly(values: ElementArray, dtype: DataType): ElementArray {
  const converted = arrays[dtype].from(values)
  const other = values.findIndex((value, index) => !Object.is(value + 0, converted[index]! + 0))
  if (other >= 0)
    throw new Error(`an edge weighs ${values[other]}, which is no ${dtype}: name another --dtype`)
  return converted
}

function emptyArray(dtype: DataType, length: number): ElementArray {
  try {
    return new arrays[dtype](length)
  } catch (error) {
    throw new ResourceError(
      `out of memory: cannot allocate a matrix of ${length} elements: convert to .mtx or .gr, which store only the edges`,
      { cause: error },
    )
  }
}
