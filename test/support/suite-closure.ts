/** Closures and powers: the same for both backends. */
import { afterAll, beforeAll, describe } from 'vitest'
import { type Device, openDevice } from '../../lib/index.js'
import type { Backend } from './closures.js'
import { cycles } from './suite-closure-cycles.js'
import { limits } from './suite-closure-limits.js'
import { places } from './suite-closure-places.js'
import { badInput, givingUp } from './suite-closure-refusals.js'
import { closures, nextNodes } from './suite-closure-values.js'
import { powers } from './suite-powers.js'

export function closureSuite(backend: Backend): void {
  let device: Device
  beforeAll(async () => {
    device = await openDevice({ backend })
  })
  afterAll(() => device.close())
  const open = () => device

  describe('star and plus', () => closures(backend))
  describe('next', () => nextNodes(backend, open))
  describe('matrices in and out', () => places(backend, open))
  describe('cycles that gain', () => cycles(backend, open))
  describe('integers at their limits', () => limits(backend, open))
  describe('bad input', () => badInput(backend, open))
  describe('giving up', () => givingUp(backend, open))
  describe('power', () => powers(backend, open))
}
