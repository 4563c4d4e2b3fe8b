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
  emnapiExternalMemory: ExternalMemory
}

/** Where an array is in the module's memory. */
interface Place {
  readonly Ctor: unknown
  readonly address: number
  readonly length: number
  readonly ownership: 1
  readonly runtimeAllocated: 0
}

/** What emnapi knows of arrays in the module's memory. */
interface ExternalMemory {
  wasmMemoryViewTable: WeakMap<ArrayBufferView, Place>
  getViewPointer(view: ArrayBufferView, shouldCopy: boolean): object
}

/**
 * emnapi takes an array whose buffer isn't the memory's buffer of the moment for an array outside of it, and copies that. But the buffer
 * becomes another whenever the memory grows, which threads do at any time. So it is told where each array is.
 */
function placeArrays(external: ExternalMemory): (view: ArrayBufferView, length: number) => void {
  const places = external.wasmMemoryViewTable
  const find = external.getViewPointer
  external.getViewPointer = (view, shouldCopy) => {
    const place = places.get(view)
    return place ? { ...place, view } : find.call(external, view, shouldCopy)
  }
  return (view, length) =>
    places.set(view, {
      Ctor: view.constructor,
      address: view.byteOffset,
      length,
      ownership: 1,
      runtimeAllocated: 0,
    })
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
    buffer(end: number) {
      const { wasmMemory } = module
      // It may have grown on a thread. This one sees it when it grows it too.
      if (wasmMemory.buffer.byteLength < end) wasmMemory.grow(0)
      return wasmMemory.buffer
    },
    place: placeArrays(module.emnapiExternalMemory),
  }
  return [staged(addon, memory), module]
}
