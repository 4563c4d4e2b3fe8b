/** CRC-32C (Castagnoli), which Zarr's codec crc32c and its shards' indices have. Source: RFC 3720, appendix B.4. */

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let rest = byte
  for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0x82f63b78 : rest >>> 1
  return rest
})

export function crc32c(bytes: Uint8Array): number {
  let rest = 0xffffffff
  for (let at = 0; at < bytes.length; at++) rest = table[(rest ^ bytes[at]!) & 255]! ^ (rest >>> 8)
  return (rest ^ 0xffffffff) >>> 0
}

/** The bytes of a checksum as they are stored: little-endian. */
export function checksumOf(bytes: Uint8Array): Buffer {
  const four = Buffer.alloc(4)
  four.writeUInt32LE(crc32c(bytes))
  return four
}
