/** Types of the package with the WebAssembly module for browsers (lib/remote/page.ts). */
declare module '@mpmml/wasm' {
  export function connect(): Promise<unknown>
}
