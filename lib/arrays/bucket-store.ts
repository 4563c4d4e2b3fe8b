/** Arrays in buckets of S3. Writes of objects are atomic; objects can't be renamed. */
import { raceWithAbort } from '../abort.js'
import { ChunkError, FileError } from '../errors.js'
import { atOnce, inputChanged } from './disk.js'
import { files } from './file-store.js'
import { formatAddress, isS3, parseAddress } from './names.js'
import { encodeKey, REQUESTS_AT_ONCE, requestS3, type S3Answer, type S3Request, textOf } from './s3.js'
import {
  arrayGone,
  asRow,
  type Expected,
  fileGone,
  type KeepPredicate,
  madeMeanwhile,
  type OpenFile,
  type Placement,
  type Rows,
  type Store,
  type Stored,
} from './store.js'

/**
 * Returns the store of a path or an address.
 *
 * @param signal - aborts requests to a bucket. Calls for folders ignore it, because they take no time.
 */
export const storeOf = (path: string, signal?: AbortSignal): Store =>
  isS3(path) ? new BucketStore(signal) : files

/** Page size of a listing in keys: the smallest maximum of all servers. */
const KEYS = '1000'

/** Bytes of one request. */
const RANGE_BYTES = 1 << 24

const AT_ONCE = 8

class BucketStore implements Store {
  readonly renames = false
  // Requests have more latency than a disk, so more of them run at once.
  readonly chunksAtOnce = AT_ONCE
  // Each response is buffered twice: in pieces and as a whole.
  readonly buffered = 2 * AT_ONCE
  readonly #signal: AbortSignal | undefined

  /** @param signal - ends all requests. */
  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal
  }

  #request(request: S3Request): Promise<S3Answer> {
    return requestS3(request, this.#signal)
  }

  /** Yields the objects under a prefix (the address and a slash), page by page. */
  async *#pagesUnder(path: string, most = KEYS): AsyncGenerator<Stored[]> {
    const { bucket, key } = parseAddress(path)
    const prefix = key === '' ? '' : `${key}/`
    let token: string | undefined
    let last: string | undefined
    while (true) {
      const query = {
        'list-type': '2',
        'max-keys': most,
        prefix,
        ...(token !== undefined && { 'continuation-token': token }),
      }
      const { body } = await this.#request({
        method: 'GET',
        address: { bucket, key: '' },
        query,
        purpose: 'read',
      })
      const xml = body.toString()
      yield [...xml.matchAll(/<Contents>(.*?)<\/Contents>/gs)]
        .map(([, entry]) => ({
          name: formatAddress({ bucket, key: textOf(entry!, 'Key') }),
          size: Number(textOf(entry!, 'Size')),
          version: textOf(entry!, 'ETag'),
          changedMs: Date.parse(textOf(entry!, 'LastModified')),
        }))
        // Some programs write empty objects as folders.
        .filter(({ name }) => !name.endsWith('/'))
      if (textOf(xml, 'IsTruncated') !== 'true') return
      const next = textOf(xml, 'NextContinuationToken')
      const first = textOf(xml, 'Key')
      if (next === '' || next === token || first === last) {
        throw new FileError(
          `${path} can't be read: the storage gives only a part of the list of its objects: use one that knows ListObjectsV2`,
        )
      }
      last = first
      token = next
    }
  }

  async isTaken(path: string): Promise<boolean> {
    for await (const page of this.#pagesUnder(path, '1')) if (page.length > 0) return true
    return false
  }

  /** Returns the metadata of an object; undefined if the object doesn't exist. */
  async #described(path: string): Promise<Stored | undefined> {
    const address = parseAddress(path)
    const { status, headers } = await this.#request({
      method: 'HEAD',
      address,
      purpose: 'read',
      accept: [404],
    })
    if (status === 404) return undefined
    return {
      name: path,
      size: Number(headers['content-length']),
      version: headers.etag!,
      changedMs: Date.parse(headers['last-modified']!),
    }
  }

  async exists(path: string): Promise<boolean> {
    return (await this.#described(path)) !== undefined
  }

  async remove(paths: readonly string[]): Promise<void> {
    const objects = paths.filter((path) => !path.endsWith('/'))
    await atOnce(REQUESTS_AT_ONCE, objects.length, async (index) => {
      const address = parseAddress(objects[index]!)
      await this.#request({ method: 'DELETE', address, purpose: 'removed', accept: [404] })
    })
  }

  async removeUnder(path: string, isKept: KeepPredicate = () => false, first?: string): Promise<void> {
    if (first !== undefined) await this.remove([first])
    for await (const page of this.#pagesUnder(path)) {
      await this.remove(page.map(({ name }) => name).filter((name) => !isKept(name.slice(path.length + 1))))
    }
  }

  async identity(): Promise<null> {
    return null
  }

  /**
   * Copies an object within the storage: none of its bytes come here. Throws FileError if the object doesn't
   * exist.
   */
  async #copy(from: string, to: string): Promise<void> {
    const { bucket, key } = parseAddress(from)
    const source = `/${bucket}/${encodeKey(key)}`
    const { status } = await this.#request({
      method: 'PUT',
      address: parseAddress(to),
      headers: { 'x-amz-copy-source': source },
      purpose: 'written',
      accept: [404],
    })
    if (status === 404) throw new FileError(`${to} can't be written: ${from} is gone`)
  }

  /** Returns the bytes of an object in a half-open range; null if the object doesn't exist. */
  async #bytesOf(
    path: string,
    { from, to, version }: { from?: number; to?: number; version?: string } = {},
  ): Promise<Buffer | null> {
    const { status, body, headers } = await this.#request({
      method: 'GET',
      address: parseAddress(path),
      headers: {
        ...(to !== undefined && { range: `bytes=${from}-${to - 1}` }),
        ...(version !== undefined && { 'if-match': version }),
      },
      purpose: 'read',
      accept: [404, 412, 416],
    })
    if (status === 404) {
      if (textOf(body.toString(), 'Code') === 'NoSuchBucket') {
        throw new FileError(
          `${path} can't be read: there is no bucket ${parseAddress(path).bucket}: check its name`,
        )
      }
      return null
    }
    if (status === 412 || (version !== undefined && headers.etag !== version)) {
      throw inputChanged(path)
    }
    if (to !== undefined && status === 200 && body.length > to - from!) {
      throw new ChunkError(
        `the server sent all ${body.length} bytes of the object instead of the requested ${to - from!}: use a storage that supports the header Range`,
      )
    }
    if (status === 416 || (to !== undefined && body.length !== to - from!)) {
      throw new ChunkError('it ends too early')
    }
    return body
  }

  join(path: string, ...names: string[]): string {
    return [path.replace(/\/+$/, ''), ...names].join('/')
  }

  async list(path: string): Promise<Stored[]> {
    const all: Stored[] = []
    for await (const page of this.#pagesUnder(path)) for (const stored of page) all.push(stored)
    return all.sort((x, y) => (x.name < y.name ? -1 : 1))
  }

  async names(path: string): Promise<string[]> {
    return (await this.list(path)).map(({ name }) => name.slice(path.length + 1))
  }

  readWhole(path: string): Promise<Buffer | null> {
    return this.#bytesOf(path)
  }

  async open(path: string, expected: Expected | null): Promise<OpenFile | null> {
    // One listing has the versions of all objects at planning time. Each request names its object's version.
    const stored = expected
      ? (await raceWithAbort(expected.files(), this.#signal)).get(path)
      : await this.#described(path)
    if (!stored) return null
    const { size, version } = stored
    const piece = async (from: number, to: number) => {
      if (to > size) throw new ChunkError('it ends too early')
      const bytes = await this.#bytesOf(path, { from, to, version })
      if (bytes) return bytes
      throw fileGone(path)
    }
    return {
      size,
      async read({ position, pitch, width, rows, memory, memoryPitch }) {
        if (rows === 0 || width === 0) return
        if (pitch === width && memoryPitch === width) {
          const bytes = rows * width
          for (let at = 0; at < bytes; at += RANGE_BYTES) {
            memory.set(await piece(position + at, position + Math.min(at + RANGE_BYTES, bytes)), at)
          }
          return
        }
        // Bytes between rows are transferred too, because more requests would take longer.
        const bytes = await piece(position, position + (rows - 1) * pitch + width)
        for (let row = 0; row < rows; row++) {
          memory.set(bytes.subarray(row * pitch, row * pitch + width), row * memoryPitch)
        }
      },
      close: async () => {},
    }
  }

  /** A server without conditional writes overwrites an existing object. */
  async write(path: string, _temporary: string, pieces: readonly Rows[], isNew = false): Promise<boolean> {
    const body: Uint8Array[] = []
    for (const { memory, memoryPitch, width, rows } of pieces) {
      if (memoryPitch === width) body.push(memory.subarray(0, rows * width))
      else {
        for (let row = 0; row < rows; row++) {
          body.push(memory.subarray(row * memoryPitch, row * memoryPitch + width))
        }
      }
    }
    const { status } = await this.#request({
      method: 'PUT',
      address: parseAddress(path),
      body,
      purpose: 'written',
      ...(isNew && { headers: { 'if-none-match': '*' }, accept: [409, 412] }),
    })
    return status < 300
  }

  async makeFolders(): Promise<boolean> {
    return true
  }

  /**
   * zarr.json is copied last, because an array without it doesn't exist. An array to be overwritten was
   * removed when the work began.
   */
  async place({ array, output }: Placement): Promise<boolean> {
    const marker = this.join(output, 'zarr.json')
    const source = this.join(array, 'zarr.json')
    const metadata = await this.readWhole(source)
    if (!metadata) throw arrayGone(source)
    const isPlaced = async () => {
      const there = await this.readWhole(marker)
      if (there && !there.equals(metadata)) throw madeMeanwhile(output)
      return there !== null
    }
    if (await isPlaced()) return false
    await this.#assertOwn(array, output)
    const chunks = (await this.names(array)).filter((name) => name !== 'zarr.json')
    await atOnce(REQUESTS_AT_ONCE, chunks.length, (index) =>
      this.#copy(this.join(array, chunks[index]!), this.join(output, chunks[index]!)),
    )
    if ((await this.write(marker, '', [asRow(metadata)], true)) || (await isPlaced())) return true
    throw new FileError(
      `${marker} can't be written: another process did something with it at the same moment: resume`,
    )
  }

  /**
   * Throws ExistsError unless each object of an output is a copy of an object of the array: such copies
   * remain from a process that ended early.
   */
  async #assertOwn(array: string, output: string): Promise<void> {
    const there = await this.list(output)
    const own = new Map((await this.list(array)).map((stored) => [stored.name.slice(array.length), stored]))
    await atOnce(REQUESTS_AT_ONCE, there.length, async (index) => {
      const copy = there[index]!
      const original = own.get(copy.name.slice(output.length))
      if (original && original.size === copy.size) {
        if (original.version === copy.version) return
        // The storage may give a copy another version.
        const [bytes, copied] = await Promise.all([this.readWhole(original.name), this.readWhole(copy.name)])
        if (bytes && copied?.equals(bytes)) return
      }
      throw madeMeanwhile(output)
    })
  }
}
