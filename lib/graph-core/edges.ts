/** Edge lists, the form of sparse graphs. */
import { isBigIntArray, isInt32Array, isTypedArray } from '../array-types.js'
import { assertOrdinaryArray, BorrowedArrays, copyOf, throughout } from '../borrowed.js'
import { show, typeName } from '../describe.js'
import { conversionOf, elementType, INT32, isElementArray, isInteger } from '../elements.js'
import { DTypeError, OutOfMemoryError, ShapeError, ValueError } from '../errors.js'
import { MAX_DIMENSION } from '../matrix.js'
import { type ElementArray, lengthOf as typedLength } from '../storage.js'
import { isKeyArray, type NodeNames, numbering, readingNames } from './names.js'
import { PER_SLICE, type Steps } from './slices.js'

/** Numbers of nodes: an array, or a typed array of any kind of numbers. */
export type NodeNumbers = ArrayLike<number>

/**
 * A directed graph: edge e leads from node `from[e]` to node `to[e]`. It is the matrix whose element [from[e], to[e]] is
 * `weight[e]`, and whose other elements are the semiring's zero.
 *
 * Parallel edges are joined by the semiring's ⊕: the better one counts. A self-loop is a diagonal element. An edge whose weight is the
 * semiring's zero is no edge.
 */
export interface EdgeList<Data extends ElementArray = ElementArray> {
  /** Number of nodes, which are numbered from 0. */
  readonly nodes: number
  /** The node that each edge leaves. */
  readonly from: NodeNumbers
  /** The node that each edge enters. */
  readonly to: NodeNumbers
  /**
   * The weight of each edge. The type of a typed array is the element type. An array of numbers must hold int32 integers: the compiler can't
   * tell `[0.5]` from `[5]`, because both are `number[]`, so that every function refuses other numbers at run time with ERR_MPMML_DTYPE.
   */
  readonly weight: Data | readonly number[]
}

/** An edge list that was read. */
export interface Edges {
  readonly nodes: number
  readonly from: Int32Array
  readonly to: Int32Array
  readonly weight: ElementArray
  /** The number of the element type. */
  readonly type: number
  /** The user's keys of the nodes; null if nodes are numbers. */
  readonly names: NodeNames | null
  /** Arrays of the edges that belong to the user. */
  readonly borrowed: BorrowedArrays
}

/**
 * An {@link EdgeList} whose nodes have names: values of any type, such as texts, that are distinct as keys of
 * a `Map`.
 */
export interface NamedEdgeList<Key = unknown, Data extends ElementArray = ElementArray> {
  /** The names of the nodes. */
  readonly nodes: ArrayLike<Key>
  /** The name of the node that each edge leaves. */
  readonly from: ArrayLike<Key>
  /** The name of the node that each edge enters. */
  readonly to: ArrayLike<Key>
  /** Weights, see {@link EdgeList}. */
  readonly weight: Data | readonly number[]
}

/** An {@link EdgeList} with a name for each node, as returned by {@link readGraph} and {@link toEdgeList}. */
export interface KeyedEdgeList<Key = unknown, Data extends ElementArray = ElementArray>
  extends EdgeList<Data> {
  /** The name of each node. */
  readonly keys: ArrayLike<Key>
}

/**
 * Returns whether `value` is meant as an edge list, possibly an incomplete one. A matrix has none of its
 * fields.
 */
export const isEdgeList = (value: unknown): value is EdgeList | NamedEdgeList =>
  typeof value === 'object' && value !== null && ('nodes' in value || 'from' in value || 'to' in value)

/** Returns the length of an array of numbers; -1 for other values. */
function lengthOf(values: unknown): number {
  if (Array.isArray(values)) return values.length
  // Arrays aren't checked by instanceof, because other realms have their own classes.
  if (!isTypedArray(values) || isBigIntArray(values)) return -1
  return typedLength(values as Int32Array)
}

/** Returns whether `values` can contain node indices. */
export const isNodeArray = (values: unknown): values is NodeNumbers => lengthOf(values) >= 0

/** Checks numbers of nodes, which messages call `name`, and copies them. */
export function* nodeNumbers(values: NodeNumbers, nodes: number, name: string): Steps<Int32Array> {
  const copy = new Int32Array(values.length)
  for (let e = 0; e < copy.length; e++) {
    if (e % PER_SLICE === PER_SLICE - 1) yield
    const value = values[e] as unknown
    if (!isNode(value, nodes)) wrongNode(value, nodes, `${name}[${e}]`)
    copy[e] = value
  }
  return copy
}

export function isNode(value: unknown, nodes: number): value is number {
  return typeof value === 'number' && (value | 0) === value && value >= 0 && value < nodes
}

/** Throws the error for an invalid number of a node. */
export function wrongNode(value: unknown, nodes: number, position: string): never {
  if (typeof value !== 'number' || !Number.isInteger(value)) {
    throw new DTypeError(`${position} must be the number of a node, an integer, but it is ${show(value)}`)
  }
  const range = nodes === 0 ? 'there are no nodes' : `the nodes are 0 to ${nodes - 1}`
  throw new ValueError(`${position} is ${show(value)}, but ${range}: nodes are numbered from 0`)
}

/** Returns the number of a node that is given by its number, or by its name if nodes have names. */
export function numberOfNode(
  node: unknown,
  { nodes, names }: Pick<Edges, 'nodes' | 'names'>,
  position: string,
): number {
  if (names) return names.numberOf(node, position)
  if (!isNode(node, nodes)) wrongNode(node, nodes, position)
  return node
}

function* weights(values: ElementArray | readonly number[]): Steps<ElementArray> {
  if (!isElementArray(values)) {
    const copy = new Int32Array(values.length)
    for (let e = 0; e < copy.length; e++) {
      if (e % PER_SLICE === PER_SLICE - 1) yield
      const value: unknown = values[e]
      if (typeof value !== 'number' || (value | 0) !== value) {
        throw new DTypeError(
          `weight[${e}] must be an integer from -2^31 to 2^31 - 1, but it is ${show(value)}: ` +
            'put other numbers into a Float64Array or Float32Array',
        )
      }
      copy[e] = value
    }
    return copy
  }
  const copy = copyOf(values)
  if (isInteger(elementType(copy))) return copy
  for (let e = 0; e < copy.length; e++) {
    if (e % PER_SLICE === PER_SLICE - 1) yield
    if (Number.isNaN(copy[e])) {
      throw new ValueError(`weight[${e}] is NaN, which no path can be compared with: leave the edge out`)
    }
  }
  return copy
}

const preparedEdges = new WeakMap<object, Edges>()

/**
 * Associates an object with validated edges, so that functions that take the object as an edge list don't
 * read it again.
 */
export function keepEdges(graph: object, edges: Edges): void {
  preparedEdges.set(graph, edges)
}

/**
 * Reads an edge list: checks it, and copies its arrays.
 *
 * @param weightless - whether weights may be left out; then all are 1.
 * @param takes - whether the work checks nodes and weights itself: then arrays of suitable types are
 * borrowed, and other arrays are checked and copied.
 * @throws ERR_MPMML_DTYPE for a value that isn't an edge list, and for entries that aren't integers; ERR_MPMML_SHAPE for arrays of
 *   unequal lengths and a wrong number of nodes; ERR_MPMML_VALUE for nodes that don't exist, and for NaN.
 */
export function* readingEdges(graph: unknown, { weightless = false, takes = false } = {}): Steps<Edges> {
  if (typeof graph !== 'object' || graph === null) {
    throw new DTypeError(
      `the graph must be an edge list { nodes, from, to, weight }, but it is ${typeName(graph)}`,
    )
  }
  const prepared = preparedEdges.get(graph)
  if (prepared) return prepared
  const given = graph as Record<'nodes' | 'keys' | 'from' | 'to' | 'weight', unknown>
  const { nodes: counted, keys, weight: weighing } = given
  assertOrdinaryArray(counted, 'nodes')
  assertOrdinaryArray(keys, 'keys')
  const loan = new BorrowedArrays()
  const from = loan.array(given.from, 'from')
  const to = loan.array(given.to, 'to')
  const isNamed = isKeyArray(counted)
  const nodes = isNamed ? counted.length : counted
  const weight =
    weightless && weighing === undefined
      ? new Uint8Array(isKeyArray(from) ? from.length : 0).fill(1)
      : loan.array(weighing, 'weight')
  if (typeof nodes !== 'number' || !Number.isInteger(nodes) || nodes < 0 || nodes > MAX_DIMENSION) {
    throw new ShapeError(`nodes must be an integer from 0 to 2^31 - 1, but it is ${show(nodes)}`)
  }
  if (keys !== undefined && !(isKeyArray(keys) && keys.length === nodes && !isNamed)) {
    throw new ShapeError(
      `keys must be an array with the name of each of the ${nodes} nodes, but it is ${show(keys)}`,
    )
  }
  const ends = isNamed
    ? [from, to].map((list) => (isKeyArray(list) ? list.length : -1))
    : [from, to].map(lengthOf)
  const lengths = [...ends, lengthOf(weight)] as [number, number, number]
  for (const [i, values] of [from, to].entries()) {
    if (lengths[i]! < 0) {
      throw new DTypeError(
        `${i === 0 ? 'from' : 'to'} must be an array of ${isNamed ? "nodes' names" : 'node numbers, such as an Int32Array'}, but it is ${typeName(values)}`,
      )
    }
  }
  if (!Array.isArray(weight) && !isElementArray(weight)) {
    throw new DTypeError(
      'weight must be an Int32Array, Float32Array, Float64Array or Uint8Array, or an array of int32 integers, ' +
        `but it is ${typeName(weight)}: ${conversionOf(weight)}`,
    )
  }
  if (lengths[0] !== lengths[1] || lengths[0] !== lengths[2]) {
    throw new ShapeError(
      'from, to and weight must have one entry for each edge, ' +
        `but they have ${lengths[0]}, ${lengths[1]} and ${lengths[2]} entries`,
    )
  }
  const reading = function* (): Steps<Edges> {
    const values = takes && isElementArray(weight) ? weight : yield* weights(weight)
    const named = isNamed ? counted : (keys as ArrayLike<unknown> | undefined)
    const names = named ? yield* readingNames(named, isNamed ? 'nodes' : 'keys') : null
    const numbers = (list: unknown, name: string) => {
      if (isNamed) return numbering(list, names!, name)
      return takes && isInt32Array(list) ? atHand(list) : nodeNumbers(list as NodeNumbers, nodes, name)
    }
    return {
      nodes: nodes + 0,
      from: yield* numbers(from, 'from'),
      to: yield* numbers(to, 'to'),
      weight: values,
      type: elementType(values),
      names,
      borrowed: takes ? loan : new BorrowedArrays(),
    }
  }
  try {
    return yield* throughout(loan, reading())
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new OutOfMemoryError(`out of memory: cannot copy a graph of ${lengths[0]} edges`, {
      cause: error,
    })
  }
}

// biome-ignore lint/correctness/useYield: there is nothing to do.
function* atHand<Result>(value: Result): Steps<Result> {
  return value
}

/** Creates an edge list for a result. */
export function makeEdges<Data extends ElementArray>(
  nodes: number,
  from: Int32Array,
  to: Int32Array,
  weight: Data,
): EdgeList<Data> & { from: Int32Array; to: Int32Array; weight: Data } {
  return { nodes, from, to, weight }
}

export const isInt32 = (edges: Edges): boolean => edges.type === INT32
