/** Closures and powers. The tests of both backends run this suite. */
import { afterAll, beforeAll, describe } from 'vitest'
import { type Device, openDevice } from '../../lib/index.js'
import type { Backend } from './closures.js'
import { closureLaws } from './suite-closure-laws.js'
import { places } from './suite-closure-places.js'
import { badInput, givingUp } from './suite-closure-refusals.js'
import { powers } from './suite-powers.js'

export function closureSuite(backend: Backend): void {
  let device: Device
  beforeAll(async () => {
    device = await openDevice({ backend })
  })
  afterAll(() => device.close())
  const open = () => device

  describe('laws', () => closureLaws(backend))
  describe('among other work', () => places(backend, open))
  describe('bad input', () => badInput(backend, open))
  describe('aborting', () => givingUp(backend, open))
  describe('power', () => powers(backend, open))
}
