/** Closures and powers. The tests of both backends run this suite. */
import { describe } from 'vitest'
import type { Backend } from './closures.js'
import { useDevice } from './homes.js'
import { closureLaws } from './suite-closure-laws.js'
import { places } from './suite-closure-places.js'
import { badInput, givingUp } from './suite-closure-refusals.js'
import { powers } from './suite-powers.js'

export function closureSuite(backend: Backend): void {
  const open = useDevice({ backend })

  describe('laws', () => closureLaws(backend))
  describe('among other work', () => places(backend, open))
  describe('bad input', () => badInput(backend, open))
  describe('aborting', () => givingUp(backend, open))
  describe('power', () => powers(backend, open))
}
