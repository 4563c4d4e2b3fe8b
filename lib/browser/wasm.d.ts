/** What bundlers for browsers take of the package with the WebAssembly module (lib/remote/page.ts). */
declare module '@mpmml/wasm' {
  export function connect(): Promise<unknown>
}
