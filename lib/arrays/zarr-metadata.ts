/** What zarr.json says of a matrix. Source: Zarr core specification, version 3.1; sharding codec, version 1.0. */
import { endianness } from 'node:os'
import { show, showChoices, showList } from '../describe.js'
import { bytesOfStored, isIntegers, rangeOf } from '../elements.js'
import { FileError, MpmmlError } from '../errors.js'
import { systemReason } from '../files/files.js'
import { MAX_DIMENSION } from '../matrix.js'
import { byteCodecs, type CodecEntry } from './codecs.js'
import { type ArrayType, arrayTypes } from './job.js'
import { loadHashes, loadZarrita } from './packages.js'
import type { Store } from './store.js'

export interface ZarrMatrix {
  readonly path: string
  readonly shape: readonly [number, number]
  readonly dtype: ArrayType
  /** Rows and columns of a file: a shard, or a chunk if there are no shards. */
  readonly file: readonly [number, number]
  /** Rows and columns of a chunk. */
  readonly chunk: readonly [number, number]
  /** Where a shard's index is, and whether its checksum follows it; null without shards. */
  readonly index: { readonly first: boolean; readonly checked: boolean } | null
  /** Whether the elements of a chunk's column are neighbours. */
  readonly byColumns: boolean
  /** Whether the bytes of elements are in the other order than this machine's. */
  readonly swapped: boolean
  readonly codecs: readonly CodecEntry[]
  /** What chunks hold that aren't there; null if the array doesn't say. */
  readonly fill: number | null
  /** The path of a file by its place in the grid. */
  name(row: number, col: number): string
}

type Json = Record<string, unknown>

/** Whether the bytes of a zarr.json are those of an array, and not of a group. */
export function isArrayMetadata(bytes: Buffer | null): boolean {
  try {
    return JSON.parse(`${bytes}`)?.node_type === 'array'
  } catch {
    return false
  }
}

/** The bytes of zarr.json. */
async function readMetadata(path: string, store: Store): Promise<Buffer> {
  const name = store.join(path, 'zarr.json')
  const expected =
    'expected a Zarr array of version 3, a folder with a zarr.json (a .zarray is version 2: write it with zarr_format=3)'
  try {
    const bytes = await store.readWhole(name)
    if (bytes) return bytes
  } catch (error) {
    if (error instanceof MpmmlError) throw error
    const advice = (error as NodeJS.ErrnoException).code === 'ENOTDIR' ? expected : 'zarr.json'
    throw new FileError(`${path} can't be read: ${advice}: ${systemReason(error)}`, { cause: error })
  }
  throw new FileError(`${path} can't be read: ${expected}: there is no ${name}`)
}

/** @throws FileError for what isn't a matrix that can be read; PackageError without zarrita, or hash-wasm for checksums. */
export async function readZarrMatrix(path: string, store: Store): Promise<ZarrMatrix> {
  const zarr = await loadZarrita()
  const bytes = await readMetadata(path, store)
  const refuse = (problem: string): never => {
    throw new FileError(`${path}: ${problem}`)
  }
  let json: Json
  let array: { shape: number[]; dtype: string }
  try {
    json = JSON.parse(bytes.toString()) as Json
    // zarrita reads the metadata only; it asks for ranges if there are shards.
    const get = async (key: string) => (key === '/zarr.json' ? new Uint8Array(bytes) : undefined)
    array = await zarr.open.v3({ get, getRange: async () => undefined }, { kind: 'array' })
  } catch (error) {
    const reason = (error as Error).message
    throw new FileError(`${path}: expected a Zarr array of version 3, but zarr.json is not one: ${reason}`, {
      cause: error,
    })
  }
  requireUnderstood(json, refuse)
  const { shape, dtype } = array
  if (shape.length !== 2) refuse(`expected a matrix (2-D), but its shape is ${showList(shape)}`)
  if (!shape.every((size) => Number.isInteger(size) && size >= 0 && size <= MAX_DIMENSION)) {
    refuse(`expected dimensions of 0 … ${MAX_DIMENSION}, but its shape is ${showList(shape)}`)
  }
  if (!arrayTypes.includes(dtype as ArrayType)) {
    refuse(`expected elements of type ${showChoices(arrayTypes)}, but they are of ${show(dtype)}`)
  }
  const { name: gridName, configuration: grid } = json.chunk_grid as { name?: unknown; configuration?: Json }
  const file =
    (gridName === 'regular' && pair(grid?.chunk_shape)) || refuse('its chunk grid is not a regular one')
  const top = codecList(json.codecs) ?? refuse('its codecs are not a list of names')
  const sharding = top.find(({ name }) => name === 'sharding_indexed')
  if (sharding && top.length > 1) refuse('it has codecs around its shards, which this library does not read')
  const shards = sharding ? readSharding(sharding, file, refuse) : null
  const pipeline = readPipeline(shards?.codecs ?? top, bytesOfStored(dtype as ArrayType), refuse)
  // A missing package is said before any work.
  if (shards?.index.checked || pipeline.codecs.some(({ name }) => name === 'crc32c')) await loadHashes()
  const { separator, prefix } = readKeys(json.chunk_key_encoding as Json, refuse)
  return {
    path,
    shape: shape as [number, number],
    dtype: dtype as ArrayType,
    file,
    chunk: shards?.chunk ?? file,
    index: shards?.index ?? null,
    ...pipeline,
    fill: readFill(json.fill_value, dtype as ArrayType, refuse),
    name: (row, col) => store.join(path, `${prefix}${row}${separator}${col}`),
  }
}

type Refuse = (problem: string) => never

/** What the metadata of an array may have. */
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

/** Refuses what may change what the array's bytes mean. */
function requireUnderstood(json: Json, refuse: Refuse): void {
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
}

const namedFills: Readonly<Record<string, number>> = {
  NaN: Number.NaN,
  Infinity: Number.POSITIVE_INFINITY,
  '-Infinity': Number.NEGATIVE_INFINITY,
}

/** A fill value: a number, or of floats a name, or their bits as "0x" and all of their hexadecimal digits. */
function readFill(value: unknown, dtype: ArrayType, refuse: Refuse): number | null {
  // The specification has no such arrays, but some programs write them. Which matters only if chunks are missing.
  if (value === null) return null
  const bytes = bytesOfStored(dtype)
  if (isIntegers(dtype)) {
    const [least, most] = rangeOf(dtype)
    if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most)
      return value as number
    return refuse(`its fill value must be an integer that ${dtype} holds, but it is ${show(value)}`)
  }
  if (typeof value === 'number') return value
  if (typeof value === 'string') {
    if (Object.hasOwn(namedFills, value)) return namedFills[value]!
    if (/^0x[0-9a-f]+$/i.test(value) && value.length === 2 + 2 * bytes) {
      const bits = Buffer.from(value.slice(2), 'hex')
      return bytes === 4 ? bits.readFloatBE() : bits.readDoubleBE()
    }
  }
  return refuse(
    `its fill value must be a number, "NaN", "Infinity", "-Infinity" or "0x" and ${2 * bytes} hexadecimal digits, ` +
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
  const list = value.map((entry) => (typeof entry === 'string' ? { name: entry } : (entry as CodecEntry)))
  return list.every((entry) => typeof entry?.name === 'string') ? list : null
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
  const place = configuration.index_location ?? 'end'
  if (place !== 'start' && place !== 'end')
    refuse(`its shards' index is at ${show(place)}: expected 'start' or 'end'`)
  return { chunk, codecs, index: { first: place === 'start', checked: checksum !== undefined } }
}

function readPipeline(codecs: readonly CodecEntry[], size: number, refuse: Refuse) {
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
  const endian = bytes?.configuration?.endian
  if (bytes?.name !== 'bytes' || (endian !== 'little' && endian !== 'big')) {
    refuse(`expected the codec bytes, with endian 'little' or 'big', but it has ${show(bytes?.name)}`)
  }
  for (const { name } of list) {
    if (!byteCodecs.some((known) => known === name)) {
      refuse(`its codec ${show(name)} is not one of ${showChoices(byteCodecs)}`)
    }
  }
  return { byColumns, swapped: size > 1 && (endian === 'little') !== (endianness() === 'LE'), codecs: list }
}

function readKeys(encoding: Json | undefined, refuse: Refuse) {
  const name = encoding?.name
  if (name !== 'default' && name !== 'v2')
    refuse(`its chunk keys are encoded as ${show(name)}: expected 'default' or 'v2'`)
  const usual = name === 'default' ? '/' : '.'
  const separator = ((encoding?.configuration as Json | undefined)?.separator as string | undefined) ?? usual
  if (separator !== '/' && separator !== '.')
    refuse(`its chunk keys have the separator ${show(separator)}: expected '/' or '.'`)
  return { separator, prefix: name === 'default' ? `c${separator}` : '' }
}
