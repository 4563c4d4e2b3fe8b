import { fileURLToPath } from 'node:url'
import { defineConfig } from 'vitest/config'

/** Configuration of `npm run test:packages`, which tests the packages of `npm run release`. */
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    include: ['test/packages/*.test.ts'],
    // Installing takes long on a busy machine.
    testTimeout: 600_000,
    hookTimeout: 600_000,
  },
})
