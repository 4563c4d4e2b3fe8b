/**
 * The packages with compiled addons, each with a literal `require`, in a CommonJS module: that is what bundlers and tracers follow
 * to find the file, or to leave it out. All of them stand in a `try`, so that those for other platforms may be missing. In
 * node_modules lib/load.ts finds the packages itself.
 */
exports.names = [
  '@mpmml/linux-x64-gnu',
  '@mpmml/linux-x64-musl',
  '@mpmml/linux-arm64-gnu',
  '@mpmml/darwin-arm64',
  '@mpmml/win32-x64',
  '@mpmml/cuda-linux-x64',
  '@mpmml/lab-linux-x64',
  '@mpmml/cuda-linux-arm64',
  '@mpmml/lab-linux-arm64',
  '@mpmml/cuda12-linux-x64',
  '@mpmml/lab12-linux-x64',
  '@mpmml/wasm',
]

exports.load = (name) => {
  try {
    switch (name) {
      case '@mpmml/linux-x64-gnu':
        return { addon: require('@mpmml/linux-x64-gnu') }
      case '@mpmml/linux-x64-musl':
        return { addon: require('@mpmml/linux-x64-musl') }
      case '@mpmml/linux-arm64-gnu':
        return { addon: require('@mpmml/linux-arm64-gnu') }
      case '@mpmml/darwin-arm64':
        return { addon: require('@mpmml/darwin-arm64') }
      case '@mpmml/win32-x64':
        return { addon: require('@mpmml/win32-x64') }
      case '@mpmml/cuda-linux-x64':
        return { addon: require('@mpmml/cuda-linux-x64') }
      case '@mpmml/lab-linux-x64':
        return { addon: require('@mpmml/lab-linux-x64') }
      case '@mpmml/cuda-linux-arm64':
        return { addon: require('@mpmml/cuda-linux-arm64') }
      case '@mpmml/lab-linux-arm64':
        return { addon: require('@mpmml/lab-linux-arm64') }
      case '@mpmml/cuda12-linux-x64':
        return { addon: require('@mpmml/cuda12-linux-x64') }
      case '@mpmml/lab12-linux-x64':
        return { addon: require('@mpmml/lab12-linux-x64') }
      case '@mpmml/wasm':
        return { addon: require('@mpmml/wasm') }
    }
  } catch (error) {
    return { error }
  }
  return {}
}
