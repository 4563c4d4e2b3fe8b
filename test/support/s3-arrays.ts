/** Arrays that are uploaded to the server of the tests and read from it, without the library. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, sep } from 'node:path'
import { type Plain, readZarr } from './arrays.js'
import type { S3Server } from './s3-server.js'

/** Uploads all files of a folder under a key. */
export function upload(server: S3Server, folder: string, key: string): void {
  for (const name of readdirSync(folder, { recursive: true }) as string[]) {
    const path = join(folder, name)
    if (statSync(path).isFile()) {
      server.put(`${key}/${relative(folder, path).split(sep).join('/')}`, readFileSync(path))
    }
  }
}

/** Array of the server, read by zarrita. */
export async function download(server: S3Server, key: string): Promise<Plain> {
  const folder = mkdtempSync(join(tmpdir(), 'mpmml-s3-'))
  try {
    for (const name of server.keys(`${key}/`)) {
      const path = join(folder, 'x.zarr', name.slice(key.length + 1))
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, server.objects.get(name)!.bytes)
    }
    return await readZarr(join(folder, 'x.zarr'))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
