/** Nodes with keys: unique values of any type that the user chooses. */
import { isTypedArray } from '../array-types.js'
import { copyOf } from '../borrowed.js'
import { show } from '../describe.js'
import { ShapeError, ValueError } from '../errors.js'
import { PER_SLICE, type Steps } from './slices.js'

export class NodeNames {
  /** Keys by node index. */
  readonly keys: ArrayLike<unknown>
  readonly #numbers: ReadonlyMap<unknown, number>

  constructor(keys: ArrayLike<unknown>, numbers: ReadonlyMap<unknown, number>) {
    this.keys = keys
    this.#numbers = numbers
  }

  /** Undefined if no node has this key. */
  find(key: unknown): number | undefined {
    return this.#numbers.get(key)
  }

  /**
   * Returns the index of a key. Throws ValueError for other values; `position` names the argument in messages.
   */
  numberOf(key: unknown, position: string): number {
    const node = this.find(key)
    if (node !== undefined) return node
    const many = this.keys.length
    throw new ValueError(
      `${position} is ${show(key)}, which is none of the ${many} nodes: they are named in \`nodes\``,
    )
  }

  /** Returns the text for a node in messages. */
  show(node: number): string {
    return nameText(this.keys[node])
  }
}

/** Returns the text for a key without quotation marks, because names replace numbers in messages. */
export const nameText = (key: unknown): string => (typeof key === 'string' ? key : show(key))

/** Reads the keys of nodes, which messages call `what`. */
export function* readingNames(given: ArrayLike<unknown>, what: string): Steps<NodeNames> {
  // The user may change the array while paths are read from the result.
  const keys = isTypedArray(given)
    ? (copyOf(given) as ArrayLike<unknown>)
    : [...(given as ArrayLike<unknown> as unknown[])]
  const numbers = new Map<unknown, number>()
  for (let node = 0; node < keys.length; node++) {
    if (node % PER_SLICE === PER_SLICE - 1) yield
    const key = keys[node]
    const other = numbers.get(key)
    if (other !== undefined) {
      throw new ValueError(
        `${what}[${node}] is ${show(key)}, as ${what}[${other}] is: each node needs a name of its own`,
      )
    }
    numbers.set(key, node)
  }
  return new NodeNames(keys, numbers)
}

/** Returns nodes by their names, or by their numbers if nodes have no names. */
export function* naming(nodes: ArrayLike<number>, names: NodeNames | null): Steps<unknown[]> {
  const keys: unknown[] = []
  for (let at = 0; at < nodes.length; at++) {
    if (at % PER_SLICE === PER_SLICE - 1) yield
    const node = nodes[at]!
    keys.push(names ? names.keys[node] : node)
  }
  return keys
}

/** Returns the text for a node in messages. */
export const nodeText = (node: number, names: NodeNames | null): string => names?.show(node) ?? `${node}`

/** Returns whether `value` can contain keys. */
export const isKeyArray = (value: unknown): value is ArrayLike<unknown> =>
  Array.isArray(value) || isTypedArray(value)

/** Returns the numbers of named nodes. `what` names the argument in messages. */
export function* numbering(given: unknown, names: NodeNames, what: string): Steps<Int32Array> {
  if (!isKeyArray(given))
    throw new ShapeError(`${what} must be an array of the names of nodes, but it is ${show(given)}`)
  const numbers = new Int32Array(given.length)
  for (let at = 0; at < numbers.length; at++) {
    if (at % PER_SLICE === PER_SLICE - 1) yield
    numbers[at] = names.find(given[at]) ?? names.numberOf(given[at], `${what}[${at}]`)
  }
  return numbers
}
