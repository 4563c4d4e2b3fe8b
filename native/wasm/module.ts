/** Starts the compiled module with Emscripten's JavaScript and returns the addon. */
import { createContext } from '@emnapi/runtime'
import { staged } from './staging.js'

type Instantiate = (
  imports: WebAssembly.Imports,
  received: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
) => object

/** Options of Emscripten's JavaScript, and the properties that it adds. */
export interface Module {
  /** Number of workers that are started in advance. */
  threads: number
  noExitRuntime: boolean
  /** URL of the JavaScript, which workers load and can't always determine themselves. */
  mainScriptUrlOrBlob?: string
  instantiateWasm: Instantiate
  /** Fulfilled when the workers have started. */
  pthreadPoolReady?: Promise<unknown>
  wasmMemory: WebAssembly.Memory
  _malloc(bytes: number): number
  _free(address: number): void
  emnapiInit(options: { context: object }): Record<string, unknown>
  emnapiExternalMemory: ExternalMemory
}

/**
 * Emscripten's JavaScript: it turns the given object into a module, which is complete after instantiation.
 */
export type Factory = (module: Partial<Module>) => Promise<Module>

export type Addon = Record<string, unknown>

/** Location of an array in the module's memory. */
interface Place {
  readonly Ctor: unknown
  readonly address: number
  readonly length: number
  readonly ownership: 1
  readonly runtimeAllocated: 0
}

/** emnapi's table of arrays in the module's memory. */
interface ExternalMemory {
  wasmMemoryViewTable: WeakMap<ArrayBufferView, Place>
  getViewPointer(view: ArrayBufferView, shouldCopy: boolean): object
}

/**
 * Registers the locations of arrays with emnapi. emnapi copies every array whose buffer isn't the memory's
 * current buffer. But each growth of the memory replaces the buffer, and threads grow the memory at any time.
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

/** Returns the addon of an instantiated module. */
function addonOf(module: Module): Addon {
  const context = createContext()
  // At the end of the process no memory needs to be freed, and threads may still run.
  context.suppressDestroy()
  const addon = module.emnapiInit({ context })
  return staged(addon, {
    // As an unsigned number: addresses reach 4 GiB.
    allocate: (bytes) => module._malloc(bytes) >>> 0,
    free: (address) => module._free(address),
    buffer(end) {
      const { wasmMemory } = module
      // Another thread may have grown the memory. A growth by 0 makes the new size visible on this thread.
      if (wasmMemory.buffer.byteLength < end) wasmMemory.grow(0)
      return wasmMemory.buffer
    },
    place: placeArrays(module.emnapiExternalMemory),
  })
}

const settings = {
  threads: 0,
  // The threads continue after a call has returned.
  noExitRuntime: true,
}

/** Starts a compiled module synchronously and returns its addon. */
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

/**
 * Starts a compiled module asynchronously, for threads that must not be blocked. Also waits for the workers,
 * which start only while this thread is idle.
 */
export async function startLater(
  factory: Factory,
  compiled: WebAssembly.Module,
  more: Partial<Module>,
): Promise<Addon> {
  const module = await new Promise<Module>((resolve, reject) => {
    const moduleOptions = {
      ...settings,
      instantiateWasm(imports, received) {
        WebAssembly.instantiate(compiled, imports).then((instance) => received(instance, compiled), reject)
        return {}
      },
      ...more,
    } as Module
    factory(moduleOptions).then(resolve, reject)
  })
  await module.pthreadPoolReady
  return addonOf(module)
}
