/** The compiled module, as Emscripten's JavaScript starts it, and the addon that it becomes. */
import { createContext } from '@emnapi/runtime'
import { staged } from './staging.js'

/** What Emscripten's JavaScript takes, and what it adds. */
export interface Module {
  /** The workers that are started beforehand. */
  threads: number
  noExitRuntime: boolean
  /** The URL of the JavaScript, which workers load; they can't always tell. */
  mainScriptUrlOrBlob?: string
  instantiateWasm(
    imports: WebAssembly.Imports,
    received: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): object
  /** Done when the workers have started. */
  pthreadPoolReady?: Promise<unknown>
  wasmMemory: WebAssembly.Memory
  _malloc(bytes: number): number
  _free(address: number): void
  emnapiInit(options: { context: object }): Record<string, unknown>
}

export type Factory = (module: Partial<Module>) => Promise<Module>

/** Instantiates the module and returns the addon. Nothing in it waits. */
export function start(
  factory: Factory,
  compiled: WebAssembly.Module,
  more: Partial<Module>,
): [Record<string, unknown>, Module] {
  const module = {
    threads: 0,
    // Its threads go on when a call has returned.
    noExitRuntime: true,
    instantiateWasm(imports, received) {
      const instance = new WebAssembly.Instance(compiled, imports)
      received(instance, compiled)
      return instance.exports
    },
    ...more,
  } as Module
  factory(module)
  const context = createContext()
  // At the end of the process there is nothing to be freed, and threads may still run.
  context.suppressDestroy()
  const addon = module.emnapiInit({ context })
  const memory = {
    // As an unsigned number: addresses reach 4 GiB.
    allocate: (bytes: number) => module._malloc(bytes) >>> 0,
    free: (address: number) => module._free(address),
    buffer: () => module.wasmMemory.buffer,
  }
  return [staged(addon, memory), module]
}
