/** The addon in workerd (Cloudflare), which compiles modules before a program starts and has no threads. */
import { type Addon, startLater } from './module.js'
import factory from './mpmml-single.js'
import compiled from './mpmml-single.wasm'

export const connect = (): Promise<Addon> => startLater(factory, compiled, {})
