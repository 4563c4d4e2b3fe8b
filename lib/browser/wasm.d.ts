/** Types of the package with the WebAssembly module for browsers (native/wasm/remote.ts). */
declare module '@mpmml/wasm' {
  export function connect(): Promise<unknown>
}
