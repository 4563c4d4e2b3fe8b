/** Emscripten's JavaScript, which the build makes. */
declare module '*/mpmml-single.js' {
  const factory: import('./module.js').Factory
  export default factory
}
declare module '*/mpmml-threads.js' {
  const factory: import('./module.js').Factory
  export default factory
}
