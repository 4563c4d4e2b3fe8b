/** Loads the optional packages for Zarr arrays when such an array is named. */
import { optionalPackages } from '../optional-packages.js'

export const loadZarrita = optionalPackages('Zarr arrays need', ['zarrita'], () => import('zarrita'))

/** The polynomial of CRC-32C (Castagnoli), its bits reversed. Source: RFC 3720, appendix B.4. */
const CASTAGNOLI = 0x82f63b78

export const loadHashes = optionalPackages(
  'shards, and checksums of chunks (zstd, crc32c), need',
  ['hash-wasm'],
  async () => {
    const { createCRC32, createXXHash64 } = await import('hash-wasm')
    return { crc32c: await createCRC32(CASTAGNOLI), xxh64: await createXXHash64() }
  },
)

/**
 * Returns the last four bytes of a digest in little-endian order, in which checksums are stored. The digest
 * is big-endian.
 */
async function checksum(name: 'crc32c' | 'xxh64', bytes: Uint8Array): Promise<Buffer> {
  const hash = (await loadHashes())[name]
  return Buffer.from(hash.init().update(bytes).digest('binary')).reverse().subarray(0, 4)
}

/** Returns the checksum of Zarr's codec crc32c and of indices of shards. */
export const crc32cOf = (bytes: Uint8Array): Promise<Buffer> => checksum('crc32c', bytes)

/** Returns the checksum of zstd's frames: the lower half of XXH64 with the seed 0. Source: RFC 8878. */
export const xxh64Of = (bytes: Uint8Array): Promise<Buffer> => checksum('xxh64', bytes)
