/**
 * The addon in Node.js, Deno and Bun, which load modules without waiting. native/wasm/build.mjs makes
 * addon.cjs of it. A host that shares no memory gets the module without threads, and so does who asks for it.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Factory, start } from './module.js'

const isSingle = typeof SharedArrayBuffer === 'undefined' || process.env.MPMML_WASM_THREADS === '0'
// Names that are written out: tracers such as @vercel/nft take these files along.
const glue = join(__dirname, isSingle ? 'mpmml-single.js' : 'mpmml-threads.js')
const wasm = join(__dirname, isSingle ? 'mpmml-single.wasm' : 'mpmml-threads.wasm')
const compiled = new WebAssembly.Module(readFileSync(wasm))
module.exports = start(createRequire(__filename)(glue) as Factory, compiled)
