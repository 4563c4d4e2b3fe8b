/**
 * Functions of Node.js that the library needs, except for files and the addon. In browsers
 * lib/browser/platform.ts replaces this module.
 */
import { constants } from 'node:buffer'
import { existsSync } from 'node:fs'
import { availableParallelism, cpus, homedir } from 'node:os'

export { tracingChannel } from 'node:diagnostics_channel'
export { isAbsolute, join } from 'node:path'
export { existsSync as exists, homedir as homeFolder }

/** Environment variables. The program may change them at any time. */
export const environment: Readonly<Record<string, string | undefined>> = process.env

/** The system and the processor's architecture, such as linux and x64. */
export const platform: string = process.platform
export const architecture: string = process.arch

/** The version of Node.js. */
export const runtime = process.versions.node

/**
 * Whether a buffer of results may lie outside of JavaScript's memory. Other runtimes don't document when, and
 * on which thread, they release such a buffer.
 */
export const takesForeignMemory = process.versions.bun === undefined && process.versions.deno === undefined

/** The processors that this process may use. */
export const cores = availableParallelism

/** The name of the processor; '' if it isn't known. */
export const processor = () => cpus()[0]?.model.trim() ?? ''

/** Limit of the size of an ArrayBuffer, in bytes. */
export const maxBytes = constants.MAX_LENGTH

/** Allocates memory with undefined content; null if that isn't faster than zeros. */
export const unwritten = (bytes: number): ArrayBuffer | null => Buffer.allocUnsafeSlow(bytes).buffer

/** Resolves after the event loop has run. */
export const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

const bufferOver = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length)

/** Returns the bytes of a string in UTF-8. */
export const toUtf8 = (text: string): Uint8Array => Buffer.from(text)

/** Bytes that {@link fromUtf8} and {@link fromLatin1} read without an object for each text. */
export const newBytes = (length: number): Uint8Array<ArrayBuffer> => Buffer.alloc(length)

const asBuffer = (bytes: Uint8Array) => (bytes instanceof Buffer ? bytes : bufferOver(bytes))

/** Decodes bytes from UTF-8. */
export const fromUtf8 = (bytes: Uint8Array, start: number, end: number) =>
  asBuffer(bytes).toString('utf8', start, end)

/** Decodes bytes from Latin-1: each byte is a character code. */
export const fromLatin1 = (bytes: Uint8Array, start: number, end: number) =>
  asBuffer(bytes).toString('latin1', start, end)

/** Reverses the bytes of each element in place. */
export function swapBytes(bytes: Uint8Array, size: 1 | 2 | 4 | 8): void {
  if (size === 2) bufferOver(bytes).swap16()
  if (size === 4) bufferOver(bytes).swap32()
  if (size === 8) bufferOver(bytes).swap64()
}
