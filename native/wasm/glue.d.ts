/** Emscripten's JavaScript, an output of the build. */
declare module '*/mpmml-single.js' {
  const factory: import('./module.js').Factory
  export default factory
}
declare module '*/mpmml-threads.js' {
  const factory: import('./module.js').Factory
  export default factory
}
/** Module that the host compiles in advance. */
declare module '*.wasm' {
  const compiled: WebAssembly.Module
  export default compiled
}
