/**
 * Metadata of a matrix in zarr.json. Source: Zarr core specification, version 3.1; sharding codec, version
 * 1.0.
 */
import { show, showChoices, showList, typeName } from '../describe.js'
import { FileError } from '../errors.js'
import { NpyProblem } from '../files/npy-header.js'
import { booleansRefused, type FileType, namedType } from '../files/npy-types.js'
import { MAX_DIMENSION } from '../matrix.js'
import { byteCodecs, type CodecEntry } from './codecs.js'
import type { ArrayType } from './job.js'
import { loadHashes, loadZarrita } from './packages.js'
import type { Content, Store } from './store.js'

export interface ZarrMatrix {
  readonly path: string
  readonly shape: readonly [number, number]
  /** The type of blocks in memory. */
  readonly dtype: ArrayType
  /** The type of the elements in files, and how they are converted. */
  readonly type: FileType
  /** Rows and columns of a file: a shard, or a chunk if there are no shards. */
  readonly file: readonly [number, number]
  /** Rows and columns of a chunk. */
  readonly chunk: readonly [number, number]
  /** Position of a shard's index, and whether a checksum follows it; null without shards. */
  readonly index: { readonly first: boolean; readonly checked: boolean } | null
  /** Whether chunks are stored column by column. */
  readonly byColumns: boolean
  readonly codecs: readonly CodecEntry[]
  /** Value of the elements of missing chunks; null if the metadata doesn't specify it. */
  readonly fill: number | null
  /** Returns the relative path of a file by its row and column in the grid. */
  name(row: number, col: number): string
}

type Json = Record<string, unknown>

/** Returns whether the content of a zarr.json describes an array rather than a group. */
export function isArrayMetadata(bytes: Content | null): boolean {
  try {
    return JSON.parse(`${bytes}`)?.node_type === 'array'
  } catch {
    return false
  }
}

/** Returns the bytes of zarr.json. */
async function readMetadata(path: string, store: Store): Promise<Content> {
  const name = store.join(path, 'zarr.json')
  const expected =
    'expected a Zarr array of version 3, a folder with a zarr.json (a .zarray is version 2: write it with zarr_format=3)'
  const bytes = await store.readWhole(name)
  if (bytes) return bytes
  throw new FileError(`${path} can't be read: ${expected}: there is no ${name}`)
}

function parseMetadata(path: string, bytes: Content): Json {
  const wrong = `${path}: expected a Zarr array of version 3, but zarr.json`
  let json: unknown
  try {
    json = JSON.parse(bytes.toString())
  } catch (error) {
    throw new FileError(`${wrong} is not JSON: ${(error as Error).message}`, { cause: error })
  }
  if (!isJson(json)) throw new FileError(`${wrong} has no object, but ${typeName(json)}`)
  if (json.zarr_format !== 3) throw new FileError(`${wrong} has zarr_format ${show(json.zarr_format)}`)
  if (json.node_type === 'group') {
    throw new FileError(`${wrong} is of a group: name an array in it, such as ${path}/NAME`)
  }
  if (json.node_type !== 'array') throw new FileError(`${wrong} has node_type ${show(json.node_type)}`)
  return json
}

/**
 * @throws FileError for an array that isn't a readable matrix; ERR_MPMML_PACKAGE if zarrita is missing, or
 * hash-wasm for checksums.
 */
export async function readZarrMatrix(path: string, store: Store): Promise<ZarrMatrix> {
  // A missing package is reported before any work.
  await loadZarrita()
  const json = parseMetadata(path, await readMetadata(path, store))
  const refuse = (problem: string): never => {
    throw new FileError(`${path}: ${problem}`)
  }
  assertUnderstood(json, refuse)
  const shape = readShape(json.shape, refuse)
  const grid = extension(json.chunk_grid)
  const file =
    (grid?.name === 'regular' && pair(grid.configuration?.chunk_shape)) ||
    refuse('its chunk grid is not a regular one, with a chunk_shape of two sizes')
  const top = codecList(json.codecs) ?? refuse('its codecs are not a list of names')
  const sharding = top.find(({ name }) => name === 'sharding_indexed')
  if (sharding && top.length > 1) refuse('it has codecs around its shards, which this library does not read')
  const shards = sharding ? readSharding(sharding, file, refuse) : null
  const { byColumns, endian, codecs } = readPipeline(shards?.codecs ?? top, refuse)
  const { type, dtype } = readType(json.data_type, endian, refuse)
  if (shards?.index.checked || codecs.some(({ name }) => name === 'crc32c')) await loadHashes()
  const { separator, prefix } = readKeys(json.chunk_key_encoding, refuse)
  return {
    path,
    shape,
    dtype,
    type,
    file,
    chunk: shards?.chunk ?? file,
    index: shards?.index ?? null,
    byColumns,
    codecs,
    fill: readFill(json.fill_value, type, refuse),
    name: (row, col) => store.join(path, `${prefix}${row}${separator}${col}`),
  }
}

type Refuse = (problem: string) => never

const isJson = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Returns the name and the configuration of an extension. An extension without configuration may be just a
 * name. Undefined for other values.
 */
function extension(value: unknown): CodecEntry | undefined {
  if (typeof value === 'string') return { name: value }
  if (!isJson(value) || typeof value.name !== 'string') return undefined
  const { name, configuration } = value
  return configuration === undefined || isJson(configuration) ? { name, configuration } : undefined
}

function readShape(value: unknown, refuse: Refuse): [number, number] {
  if (!Array.isArray(value)) return refuse(`its shape must be a list, but it is ${show(value)}`)
  if (value.length !== 2) refuse(`expected a matrix (2-D), but its shape is ${showList(value)}`)
  if (!value.every((size) => Number.isInteger(size) && size >= 0 && size <= MAX_DIMENSION)) {
    refuse(`expected dimensions of 0 … ${MAX_DIMENSION}, but its shape is ${showList(value)}`)
  }
  return value as [number, number]
}

/**
 * Returns the element type in files and in blocks. Types are converted as in .npy files, except int16, which
 * blocks keep.
 */
function readType(value: unknown, endian: unknown, refuse: Refuse): { type: FileType; dtype: ArrayType } {
  const data = extension(value)
  if (!data) return refuse(`its data_type must be a name, but it is ${show(value)}`)
  try {
    const type = namedType(data.name, endian !== 'big')
    if (type.size > 1 && endian === undefined) {
      refuse("expected the codec bytes with endian 'little' or 'big', but it has none")
    }
    if (type.name === 'bool') throw booleansRefused()
    if (type.name === 'int16') return { type: { ...type, convert: undefined }, dtype: 'int16' }
    return { type, dtype: type.dtype as ArrayType }
  } catch (error) {
    if (error instanceof NpyProblem) return refuse(error.message)
    throw error
  }
}

/** Keys allowed in the metadata of an array. */
const known: ReadonlySet<string> = new Set([
  'zarr_format',
  'node_type',
  'shape',
  'data_type',
  'chunk_grid',
  'chunk_key_encoding',
  'fill_value',
  'codecs',
  'attributes',
  'storage_transformers',
  'dimension_names',
])

/** Refuses unknown keys, which may change the meaning of the array's bytes. */
function assertUnderstood(json: Json, refuse: Refuse): void {
  const mustBe = (value: unknown) => (value as Json | null)?.must_understand !== false
  const unknown = Object.keys(json).find((name) => !known.has(name) && mustBe(json[name]))
  if (unknown !== undefined) {
    refuse(
      `its zarr.json has ${show(unknown)}, which this library does not know and which is not marked "must_understand": false`,
    )
  }
  const transformers = json.storage_transformers ?? []
  if (!Array.isArray(transformers) || transformers.some(mustBe)) {
    refuse('it has storage transformers, which this library does not read')
  }
  const { attributes = {}, dimension_names: dimensions } = json
  if (!isJson(attributes)) refuse(`its attributes must be an object, but they are ${show(attributes)}`)
  const isName = (name: unknown) => name === null || typeof name === 'string'
  if (
    dimensions !== undefined &&
    dimensions !== null &&
    !(Array.isArray(dimensions) && dimensions.every(isName))
  ) {
    refuse(`its dimension_names must be a list of names, but they are ${show(dimensions)}`)
  }
}

const namedFills: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
}

/** Reads a fill value: a number, or for floats a name or the bits as "0x" with all hexadecimal digits. */
function readFill(value: unknown, { name, size }: FileType, refuse: Refuse): number | null {
  // The specification has no arrays without fill value, but some programs write them. They are readable
  // unless chunks are missing.
  if (value === null) return null
  if (!name.startsWith('float')) {
    const values = 2 ** (8 * size)
    const [least, end] = name.startsWith('u') ? [0, values] : [-values / 2, values / 2]
    // JSON.parse() rounds the greatest integer of 64 bits up to `end`.
    const most = size === 8 ? end : end - 1
    if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most)
      return value as number
    return refuse(`its fill value must be an integer that ${name} holds, but it is ${show(value)}`)
  }
  if (typeof value === 'number') return value
  if (typeof value === 'string') {
    if (Object.hasOwn(namedFills, value)) return namedFills[value]!
    if (/^0x[0-9a-f]+$/i.test(value) && value.length === 2 + 2 * size) {
      const bits = Buffer.from(value.slice(2), 'hex')
      return size === 4 ? bits.readFloatBE() : bits.readDoubleBE()
    }
  }
  return refuse(
    `its fill value must be a number, "NaN", "Infinity", "-Infinity" or "0x" and ${2 * size} hexadecimal digits, ` +
      `but it is ${show(value)}`,
  )
}

function pair(value: unknown): [number, number] | null {
  const fits =
    Array.isArray(value) && value.length === 2 && value.every((size) => Number.isInteger(size) && size > 0)
  return fits ? (value as [number, number]) : null
}

function codecList(value: unknown): CodecEntry[] | null {
  if (!Array.isArray(value)) return null
  const list = value.map(extension)
  return list.every((entry) => entry !== undefined) ? list : null
}

function readSharding({ configuration = {} }: CodecEntry, file: readonly [number, number], refuse: Refuse) {
  const chunk =
    pair(configuration.chunk_shape) ?? refuse('the chunks of its shards have no shape of two sizes')
  if (file[0] % chunk[0] || file[1] % chunk[1]) {
    refuse(`its shards, ${showList(file)}, are not whole numbers of chunks, ${showList(chunk)}`)
  }
  const codecs = codecList(configuration.codecs) ?? refuse('the codecs of its shards are not a list of names')
  const index = codecList(configuration.index_codecs) ?? refuse("the codecs of its shards' index are missing")
  const [bytes, checksum, more] = index
  const little = bytes?.configuration?.endian === 'little'
  if (bytes?.name !== 'bytes' || !little || (checksum && checksum.name !== 'crc32c') || more) {
    refuse("expected the codecs bytes (little-endian) and crc32c of its shards' index")
  }
  const position = configuration.index_location ?? 'end'
  if (position !== 'start' && position !== 'end')
    refuse(`its shards' index is at ${show(position)}: expected 'start' or 'end'`)
  return { chunk, codecs, index: { first: position === 'start', checked: checksum !== undefined } }
}

/** Types of the parameters of codecs. */
const parameters = {
  level: 'integer',
  checksum: 'boolean',
  cname: 'string',
  clevel: 'integer',
  shuffle: 'string',
  typesize: 'integer',
  blocksize: 'integer',
} as const

function readPipeline(codecs: readonly CodecEntry[], refuse: Refuse) {
  const list = [...codecs]
  let byColumns = false
  if (list[0]?.name === 'transpose') {
    const order = list.shift()!.configuration?.order
    if (order === 'F' || (Array.isArray(order) && order[0] === 1 && order[1] === 0)) byColumns = true
    else if (order !== 'C' && !(Array.isArray(order) && order[0] === 0 && order[1] === 1)) {
      refuse(`its codec transpose has an order that a matrix has not: ${JSON.stringify(order)}`)
    }
  }
  const bytes = list.shift()
  // Elements of one byte have no byte order.
  const endian = bytes?.configuration?.endian
  if (bytes?.name !== 'bytes' || (endian !== undefined && endian !== 'little' && endian !== 'big')) {
    refuse(`expected the codec bytes, with endian 'little' or 'big', but it has ${show(bytes?.name)}`)
  }
  for (const { name, configuration = {} } of list) {
    if (!byteCodecs.some((known) => known === name)) {
      refuse(`its codec ${show(name)} is not one of ${showChoices(byteCodecs)}`)
    }
    for (const [parameter, type] of Object.entries(parameters)) {
      const value = configuration[parameter]
      if (value === undefined || (type === 'integer' ? Number.isInteger(value) : typeof value === type))
        continue
      refuse(`its codec ${show(name)} must have ${parameter} as ${type}, but it is ${show(value)}`)
    }
  }
  return { byColumns, endian, codecs: list }
}

function readKeys(value: unknown, refuse: Refuse) {
  const encoding = extension(value)
  const name = encoding?.name
  if (name !== 'default' && name !== 'v2')
    refuse(`its chunk keys are encoded as ${show(name)}: expected 'default' or 'v2'`)
  const separator = encoding?.configuration?.separator ?? (name === 'default' ? '/' : '.')
  if (separator !== '/' && separator !== '.')
    refuse(`its chunk keys have the separator ${show(separator)}: expected '/' or '.'`)
  return { separator, prefix: name === 'default' ? `c${separator}` : '' }
}
