/** Emscripten's JavaScript, which the build makes. */
declare module '*/mpmml-single.js' {
  const factory: import('./module.js').Factory
  export default factory
}
declare module '*/mpmml-threads.js' {
  const factory: import('./module.js').Factory
  export default factory
}
/** Where the host compiles modules beforehand. */
declare module '*.wasm' {
  const compiled: WebAssembly.Module
  export default compiled
}
