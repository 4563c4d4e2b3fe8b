/** Storage of arrays, with the same interface for all kinds: .npy files, Zarr folders, Zarr in a bucket. */
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, vi } from 'vitest'
import { type ArraysOptions, allJobs, type BlockPlan, runBlock } from '../../lib/arrays.js'
import { readNpy, writeNpy } from '../../lib/files.js'
import { type Elements, type Plain, readZarr, writeZarr } from './arrays.js'
import { coded } from './coded.js'
import { shortestDistances } from './graph-oracle.js'
import { download, upload } from './s3-arrays.js'
import { S3Server } from './s3-server.js'

const BUCKET = 's3://bucket/'

export class StorageLocation {
  #folder = ''
  #server: S3Server | undefined
  #names = 0

  /** Registers the storage in a suite, for the duration of its tests. */
  constructor(readonly kind: '.npy' | '.zarr' | 's3') {
    beforeAll(async () => {
      this.#folder = mkdtempSync(join(tmpdir(), 'mpmml-place-'))
      if (kind === 's3') this.#server = await S3Server.start()
      for (const [name, value] of Object.entries(this.#server?.environment ?? {})) vi.stubEnv(name, value)
    })
    afterAll(async () => {
      vi.unstubAllEnvs()
      await this.#server?.end()
      rmSync(this.#folder, { recursive: true, force: true })
    })
  }

  get isZarr(): boolean {
    return this.kind !== '.npy'
  }

  /** Returns an unused name. */
  fresh(): string {
    const name = `${this.#names++}${this.isZarr ? '.zarr' : '.npy'}`
    return this.#server ? `${BUCKET}${name}` : join(this.#folder, name)
  }

  async write(path: string, array: Plain): Promise<void> {
    if (!this.isZarr) return writeNpy(path, array as never)
    if (!this.#server) return writeZarr(path, array, [32, 32])
    const created = join(this.#folder, 'made.zarr')
    await writeZarr(created, array, [32, 32])
    upload(this.#server, created, path.slice(BUCKET.length))
    rmSync(created, { recursive: true })
  }

  async read(path: string): Promise<Elements> {
    if (this.#server) return (await download(this.#server, path.slice(BUCKET.length))).data
    return this.isZarr ? (await readZarr(path)).data : ((await readNpy(path)).data as Elements)
  }

  /** Writes a foreign file into the storage. */
  put(path: string, text: string): void {
    if (this.#server) this.#server.put(path.slice(BUCKET.length), Buffer.from(text))
    else {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
  }

  /** Names of all files or objects below a name. */
  below(path: string): string[] {
    if (this.#server) {
      const prefix = `${path.slice(BUCKET.length)}/`
      return this.#server.keys(prefix).map((key) => key.slice(prefix.length))
    }
    const isFolder = existsSync(path) && statSync(path).isDirectory()
    return isFolder ? (readdirSync(path, { recursive: true }) as string[]).sort() : []
  }

  /** Bytes of the file or object with a name, and of all files or objects below it, by name. */
  contents(path: string): Map<string, string> {
    const names = [path, ...this.below(path).map((name) => `${path}/${name}`)]
    const files = names.flatMap((name): [string, string][] => {
      if (this.#server) {
        const stored = this.#server.objects.get(name.slice(BUCKET.length))
        return stored ? [[name, stored.bytes.toString('latin1')]] : []
      }
      return existsSync(name) && statSync(name).isFile() ? [[name, readFileSync(name, 'latin1')]] : []
    })
    return new Map(files)
  }

  /** Removes the file or object with a name, and all files or objects below it. */
  remove(path: string): void {
    if (!this.#server) rmSync(path, { recursive: true })
    else for (const key of this.contents(path).keys()) this.#server.objects.delete(key.slice(BUCKET.length))
  }
}

/** Starts work and aborts it after the given number of blocks. */
export async function cutOff(
  work: (options: ArraysOptions) => Promise<unknown>,
  blocks: number,
  options: ArraysOptions,
): Promise<void> {
  const controller = new AbortController()
  const reason = new Error('enough')
  const cut = work({
    ...options,
    signal: controller.signal,
    onProgress: ({ blocks: done }) => done >= blocks && controller.abort(reason),
  })
  await expect(cut).rejects.toEqual(coded('ABORTED'))
  await expect(cut).rejects.toMatchObject({ cause: reason })
}

export async function runAll(plan: BlockPlan): Promise<void> {
  for (const job of allJobs(plan)) await runBlock(plan, job, { backend: 'cpu' })
}

/** Weights of a random graph, and its shortest distances. */
export function network(nodes: number): { weights: Plain; distances: Int32Array } {
  const none = 2 ** 31 - 1
  const weights = Int32Array.from({ length: nodes ** 2 }, (_, at) =>
    (at * 7919) % 97 < 5 ? 1 + (at % 50) : none,
  )
  return {
    weights: { shape: [nodes, nodes], data: weights },
    distances: shortestDistances(weights, nodes),
  }
}
