/** Driver and GPUs of a machine, from files in a folder of the test. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { needsCuda12 } from '../../lib/nvidia.js'
import { useFolder } from '../support/folder.js'

const inFolder = useFolder(afterEach)

function driver(line: string): void {
  mkdirSync(inFolder('proc/driver/nvidia'), { recursive: true })
  writeFileSync(inFolder('proc/driver/nvidia/version'), `${line}\nGCC version:  gcc version 12.2.0\n`)
}

let devices = 0
function device(vendor: string, number: string, kind = '0x030000'): void {
  const folder = inFolder('sys/bus/pci/devices', `0000:0${++devices}:00.0`)
  mkdirSync(folder, { recursive: true })
  for (const [name, value] of Object.entries({ vendor, device: number, class: kind }))
    writeFileSync(join(folder, name), `${value}\n`)
}

// PCI device numbers of the PCI ID Repository.
const GTX_980 = '0x13c0'
const GTX_1080_TI = '0x1b06'
const TITAN_V = '0x1d81'
const RTX_2080 = '0x1e87'
const H100 = '0x2330'

const proprietary = (version: string) =>
  `NVRM version: NVIDIA UNIX x86_64 Kernel Module  ${version}  Thu Feb 22 01:44:30 UTC 2024`
const open = (version: string) =>
  `NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  ${version}  Release Build  (root@host)`

describe('needsCuda12', () => {
  it.each([
    ['525.147.05', true],
    ['550.54.14', true],
    ['575.57.08', true],
    ['580.65.06', false],
    ['1000.10.01', false],
  ])('compares the driver %s with 580', (version, expected) => {
    device('0x10de', RTX_2080)
    for (const line of [proprietary(version), open(version)]) {
      driver(line)
      expect(needsCuda12(inFolder()), line).toBe(expected)
    }
  })

  it.each([
    [[GTX_980], true],
    [[GTX_1080_TI], true],
    [[TITAN_V, GTX_1080_TI], true],
    [[RTX_2080], false],
    [[H100], false],
    [[GTX_1080_TI, RTX_2080], false],
  ])('is true if all GPUs, here %s, are older than Turing', (gpus, expected) => {
    driver(proprietary('580.65.06'))
    for (const gpu of gpus) device('0x10de', gpu)
    expect(needsCuda12(inFolder())).toBe(expected)
  })

  it('ignores devices of other vendors and of other classes', () => {
    driver(proprietary('580.65.06'))
    device('0x8086', '0x1912')
    device('0x10de', '0x10ef', '0x040300')
    expect(needsCuda12(inFolder())).toBe(false)
    device('0x10de', GTX_1080_TI, '0x030200')
    expect(needsCuda12(inFolder())).toBe(true)
  })

  it('is false if the files are missing or have other content', () => {
    expect(needsCuda12(inFolder())).toBe(false)
    driver('')
    expect(needsCuda12(inFolder())).toBe(false)
  })
})
