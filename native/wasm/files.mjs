/**
 * The files in build/Release/wasm that browsers load. Node.js also loads mpmml-single.js, which is part of
 * shared.mjs for browsers.
 */
export const browserFiles = [
  'browser.mjs',
  'shared.mjs',
  'worker.mjs',
  'mpmml-single.wasm',
  'mpmml-threads.js',
  'mpmml-threads.wasm',
]
