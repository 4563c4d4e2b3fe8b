/** Part of the package with the WebAssembly module that bundlers for browsers take (lib/remote/page.ts). */
declare module '@mpmml/wasm' {
  export function connect(): Promise<unknown>
}
