/** The files in build/Release/wasm that browsers load. Node.js loads mpmml-single.js too, which they have in shared.mjs. */
export const browserFiles = [
  'browser.mjs',
  'shared.mjs',
  'worker.mjs',
  'mpmml-single.wasm',
  'mpmml-threads.js',
  'mpmml-threads.wasm',
]
