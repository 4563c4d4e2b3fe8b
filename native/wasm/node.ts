/**
 * The addon in Node.js, Deno and Bun, which load modules without waiting. native/wasm/build.mjs makes addon.cjs of it. A host that shares
 * no memory gets the module without threads, and so does who asks for it.
 */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Factory, start } from './module.js'

const isSingle = typeof SharedArrayBuffer === 'undefined' || process.env.MPMML_WASM_THREADS === '0'
const file = join(__dirname, isSingle ? 'mpmml-single' : 'mpmml-threads')
const compiled = new WebAssembly.Module(readFileSync(`${file}.wasm`))
module.exports = start(createRequire(__filename)(`${file}.js`) as Factory, compiled)
