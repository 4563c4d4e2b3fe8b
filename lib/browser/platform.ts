/**
 * Functions of browsers and their workers that the library needs; the counterpart of lib/platform.ts for Node.js.
 */
import type * as host from '../platform.js'

/** The exports are those of lib/platform.ts. */
type Host = typeof host

/**
 * Environment variables, which a page may set as `globalThis.MPMML_ENVIRONMENT` before it loads the library.
 */
export const environment: Host['environment'] =
  (globalThis as { MPMML_ENVIRONMENT?: Record<string, string> }).MPMML_ENVIRONMENT ?? {}
export const platform: Host['platform'] = 'a browser'
export const architecture: Host['architecture'] = 'WebAssembly'
export const runtime: Host['runtime'] = ''
export const takesForeignMemory: Host['takesForeignMemory'] = false

const unknownFolder = (): never => {
  throw new Error('a browser has no folders')
}
export const homeFolder: Host['homeFolder'] = unknownFolder
export const isAbsolute: Host['isAbsolute'] = (path) => path.startsWith('/')
export const join: Host['join'] = (...parts) => parts.join('/')
export const exists: Host['exists'] = () => false

export const cores: Host['cores'] = () => navigator.hardwareConcurrency ?? 1
export const processor: Host['processor'] = () => ''

/**
 * Limit of the size of an ArrayBuffer: Chromium's, the lowest of all browsers, is 2^32 less some pages of 64
 * KiB.
 */
export const maxBytes: Host['maxBytes'] = 2 ** 32 - 2 ** 16
export const unwritten: Host['unwritten'] = () => null

/** Resolves after a message has been delivered: nested timers would wait for 4 ms each. */
export const turn: Host['turn'] = () =>
  new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel()
    port1.onmessage = () => {
      port1.close()
      resolve()
    }
    port2.postMessage(null)
  })

/** A channel to which nobody can subscribe. */
const silent = { hasSubscribers: false }
export const tracingChannel = (() => ({
  ...{ start: silent, end: silent, asyncStart: silent, asyncEnd: silent, error: silent },
})) as unknown as Host['tracingChannel']

/** Number of arguments per call, below the limit of every engine. */
const MAX_ARGUMENTS = 1 << 13

const encoder = new TextEncoder()
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true })

export const newBytes: Host['newBytes'] = (length) => new Uint8Array(length)
export const toUtf8: Host['toUtf8'] = (text) => encoder.encode(text)
export const fromUtf8: Host['fromUtf8'] = (bytes, start, end) => utf8.decode(bytes.subarray(start, end))

export const fromLatin1: Host['fromLatin1'] = (bytes, start, end) => {
  let text = ''
  for (let at = start; at < end; at += MAX_ARGUMENTS)
    text += String.fromCharCode(...bytes.subarray(at, Math.min(at + MAX_ARGUMENTS, end)))
  return text
}

export const swapBytes: Host['swapBytes'] = (bytes, size) => {
  for (let at = 0; at < bytes.length; at += size) bytes.subarray(at, at + size).reverse()
}
