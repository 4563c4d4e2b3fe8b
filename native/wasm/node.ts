/** The addon in Node.js, Deno and Bun, which load modules without waiting. native/wasm/build.mjs makes addon.cjs of it. */
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { type Factory, start } from './module.js'

const folder = __dirname
const name = 'mpmml-threads'
const compiled = new WebAssembly.Module(readFileSync(join(folder, `${name}.wasm`)))
const factory = createRequire(__filename)(join(folder, `${name}.js`)) as Factory
const [addon] = start(factory, compiled, {})
module.exports = addon
