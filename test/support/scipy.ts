/** Archives of one-dimensional arrays, which represent SciPy's sparse matrices. */
import { buffer } from 'node:stream/consumers'
import { ZipFile } from 'yazl'

/** Array of an archive: type and shape in its header, and its elements. */
export type Part = readonly [descr: string, shape: string, bytes: Uint8Array]

export const bytesOf = ({ buffer }: { buffer: ArrayBufferLike }) => new Uint8Array(buffer)
export const int32 = (...values: number[]): Part => [
  '<i4',
  `(${values.length},)`,
  bytesOf(Int32Array.from(values)),
]
export const int64 = (...values: (number | bigint)[]): Part => [
  '<i8',
  `(${values.length},)`,
  bytesOf(BigInt64Array.from(values, BigInt)),
]
export const format = (name: string): Part => ['|S3', '()', Buffer.from(name)]

/** An archive in the format of scipy.sparse.save_npz. */
export async function npzOf(parts: Record<string, Part>): Promise<Uint8Array> {
  const zip = new ZipFile()
  for (const [name, [descr, shape, bytes]] of Object.entries(parts)) {
    const header = `{'descr': '${descr}', 'fortran_order': False, 'shape': ${shape}, }`.padEnd(117)
    const npy = Buffer.concat([
      Buffer.from('\x93NUMPY\x01\x00v\x00', 'latin1'),
      Buffer.from(`${header}\n`),
      bytes,
    ])
    zip.addBuffer(npy, `${name}.npy`)
  }
  zip.end()
  return buffer(zip.outputStream)
}
