/** The files in build/Release/wasm that browsers load. */
export const browserFiles = [
  'browser.mjs',
  'shared.mjs',
  'worker.mjs',
  'mpmml-single.wasm',
  'mpmml-threads.js',
  'mpmml-threads.wasm',
]
