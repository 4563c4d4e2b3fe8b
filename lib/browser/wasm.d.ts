/** What bundlers for browsers take of the package with the WebAssembly module (native/wasm/remote.ts). */
declare module '@mpmml/wasm' {
  export function connect(): Promise<unknown>
}
