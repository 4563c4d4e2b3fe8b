import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** The tests of the packages of `npm run release`: npm run test:packages. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/packages/*.test.ts'],
    // Installing takes long on a busy machine.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
})
