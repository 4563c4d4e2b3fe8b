/** The package in a browser, where it has no folder; the counterpart of lib/package.ts for Node.js. */
import type * as inNode from '../package.js'

/** Replaced by bench/bundle.mjs with the version. */
declare const MPMML_VERSION: string

export const root: typeof inNode.root = ''
export const manifest: typeof inNode.manifest = undefined
export const version: typeof inNode.version = MPMML_VERSION
export const packageAround: typeof inNode.packageAround = () => undefined
