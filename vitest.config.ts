import { existsSync } from 'node:fs'
import { defineConfig } from 'vitest/config'

const hasGpu = existsSync('/dev/nvidiactl') || existsSync('/proc/driver/nvidia/version')

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Tests that fill a GPU's memory must have it to themselves.
    fileParallelism: !hasGpu,
  },
})
