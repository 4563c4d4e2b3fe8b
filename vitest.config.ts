import { existsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'

const hasGpu = existsSync('/dev/nvidiactl') || existsSync('/proc/driver/nvidia/version')

// A build with CUDA has an addon with everything. Without a driver users get another; tests look at the whole table.
const lab = existsSync(new URL('build/Release/mpmml_lab.node', import.meta.url))

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/packages/**'],
    env: lab ? { MPMML_ADDON: process.env.MPMML_ADDON ?? 'lab' } : {},
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Tests that fill a GPU's memory must have it to themselves.
    fileParallelism: !hasGpu,
  },
})
