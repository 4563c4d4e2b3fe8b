/** The compiled module, as Emscripten's JavaScript starts it, and the addon that it becomes. */
import { createContext } from '@emnapi/runtime'
import { staged } from './staging.js'

type Instantiate = (
  imports: WebAssembly.Imports,
  received: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
) => object

/** What Emscripten's JavaScript takes, and what it adds. */
export interface Module {
  /** The workers that are started beforehand. */
  threads: number
  noExitRuntime: boolean
  /** The URL of the JavaScript, which workers load; they can't always tell. */
  mainScriptUrlOrBlob?: string
  instantiateWasm: Instantiate
  /** Done when the workers have started. */
  pthreadPoolReady?: Promise<unknown>
  wasmMemory: WebAssembly.Memory
  _malloc(bytes: number): number
  _free(address: number): void
  emnapiInit(options: { context: object }): Record<string, unknown>
  emnapiExternalMemory: ExternalMemory
}

/** Emscripten's JavaScript: it makes what it is given a module, which is complete when it has been instantiated. */
export type Factory = (module: Partial<Module>) => Promise<Module>

export type Addon = Record<string, unknown>

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
 * emnapi takes an array whose buffer isn't the memory's buffer of the moment for an array outside of it, and
 * copies that. But the buffer becomes another whenever the memory grows, which threads do at any time. So it
 * is told where each array is.
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

/** The addon that an instantiated module has. */
function addonOf(module: Module): Addon {
  const context = createContext()
  // At the end of the process there is nothing to be freed, and threads may still run.
  context.suppressDestroy()
  const addon = module.emnapiInit({ context })
  return staged(addon, {
    // As an unsigned number: addresses reach 4 GiB.
    allocate: (bytes) => module._malloc(bytes) >>> 0,
    free: (address) => module._free(address),
    buffer(end) {
      const { wasmMemory } = module
      // It may have grown on a thread. This one sees it when it grows it too.
      if (wasmMemory.buffer.byteLength < end) wasmMemory.grow(0)
      return wasmMemory.buffer
    },
    place: placeArrays(module.emnapiExternalMemory),
  })
}

const settings = {
  threads: 0,
  // Its threads go on when a call has returned.
  noExitRuntime: true,
}

/** The addon of a compiled module. Nothing in it waits. */
export function start(factory: Factory, compiled: WebAssembly.Module): Addon {
  const module = {
    ...settings,
    instantiateWasm(imports, received) {
      const instance = new WebAssembly.Instance(compiled, imports)
      received(instance, compiled)
      return instance.exports
    },
  } as Module
  factory(module)
  return addonOf(module)
}

/** The same where only brief work may hold up a thread. It waits for the workers too: they start only while this thread does nothing. */
export async function startLater(
  factory: Factory,
  compiled: WebAssembly.Module,
  more: Partial<Module>,
): Promise<Addon> {
  const module = await new Promise<Module>((resolve, reject) => {
    const wanted = {
      ...settings,
      instantiateWasm(imports, received) {
        WebAssembly.instantiate(compiled, imports).then((instance) => received(instance, compiled), reject)
        return {}
      },
      ...more,
    } as Module
    factory(wanted).then(resolve, reject)
  })
  await module.pthreadPoolReady
  return addonOf(module)
}
