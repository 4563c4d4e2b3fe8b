/**
 * The addon in Node.js, Deno and Bun, which load modules synchronously. native/wasm/build.mjs bundles it as
 * addon.cjs. The module without threads is used if the host has no shared memory or if the user requests it.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Factory, start } from './module.js'

const isSingle = typeof SharedArrayBuffer === 'undefined' || process.env.MPMML_WASM_THREADS === '0'
// Literal names, so that tracers such as @vercel/nft include the files.
const glue = join(__dirname, isSingle ? 'mpmml-single.js' : 'mpmml-threads.js')
const wasm = join(__dirname, isSingle ? 'mpmml-single.wasm' : 'mpmml-threads.wasm')
const compiled = new WebAssembly.Module(readFileSync(wasm))
module.exports = start(createRequire(__filename)(glue) as Factory, compiled)
