/** Stores the content of the fields in the fragment of the address, which is never sent to a server. */
import type { Values } from './tool.js'

/** Limit of the length of a link. Some programs truncate longer links. */
const MAX_LETTERS = 16_000
/** Limit of the size of an unpacked link. */
const MAX_BYTES = 1 << 20

async function through(
  bytes: Uint8Array<ArrayBuffer>,
  stream: CompressionStream | DecompressionStream,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = []
  let size = 0
  const reader = new Blob([bytes]).stream().pipeThrough(stream).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    size += value.length
    if (size > MAX_BYTES) throw new Error('it holds too much')
    parts.push(value)
  }
  return new Uint8Array(await new Blob(parts as Uint8Array<ArrayBuffer>[]).arrayBuffer())
}

/** Encodes the fields in characters that need no escape in a URL; null if the result is too long. */
export async function toLetters(values: Values): Promise<string | null> {
  const bytes = new TextEncoder().encode(JSON.stringify(values))
  if (bytes.length > MAX_BYTES) return null
  const packed = await through(bytes, new CompressionStream('deflate-raw'))
  const letters = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(''))
  if (letters.length > MAX_LETTERS) return null
  return letters.replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/** Inverse of {@link toLetters}. Links are untrusted, so only string values are accepted. */
export async function fromLetters(letters: string): Promise<Values> {
  const packed = atob(letters.replaceAll('-', '+').replaceAll('_', '/'))
  const bytes = Uint8Array.from(packed, (character) => character.charCodeAt(0))
  const values: unknown = JSON.parse(
    new TextDecoder().decode(await through(bytes, new DecompressionStream('deflate-raw'))),
  )
  const pairs = Object.entries(values ?? {}).filter(([, value]) => typeof value === 'string')
  return Object.fromEntries(pairs)
}
