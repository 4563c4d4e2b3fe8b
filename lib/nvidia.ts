/** The NVIDIA driver and GPUs of a Linux machine, read from files: the loader chooses an addon before any CUDA code can run. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** Files that exist if an NVIDIA driver is installed, on Linux and in the Windows Subsystem for Linux. */
export const driverTraces = ['/proc/driver/nvidia/version', '/dev/nvidiactl', '/usr/lib/wsl/lib/libcuda.so.1']

/** Oldest driver that CUDA 13 runs with, and the first PCI device number of Turing; those of Maxwell, Pascal and Volta are smaller. */
const DRIVER_OF_CUDA_13 = 580
const FIRST_TURING = 0x1e00
const NVIDIA = '0x10de'

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim()
  } catch {
    return ''
  }
}

/**
 * Returns whether this machine needs packages built with CUDA 12 instead of CUDA 13: its driver is older than
 * 580, or all of its GPUs are older than Turing. Returns false if the files don't have this information, such
 * as in the Windows Subsystem for Linux.
 *
 * @param root - folder that holds `proc` and `sys`: tests have their own.
 */
export function needsCuda12(root = '/'): boolean {
  // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.14  …"
  const release = /\s(\d{3,})\.\d/.exec(read(join(root, 'proc/driver/nvidia/version')))?.[1]
  if (release !== undefined && Number(release) < DRIVER_OF_CUDA_13) return true
  const bus = join(root, 'sys/bus/pci/devices')
  const gpus = (existsSync(bus) ? readdirSync(bus) : []).filter(
    (device) =>
      read(join(bus, device, 'vendor')) === NVIDIA &&
      // Class 03 means display controllers: an NVIDIA card also has audio and USB devices.
      read(join(bus, device, 'class')).startsWith('0x03'),
  )
  return gpus.length > 0 && gpus.every((gpu) => Number(read(join(bus, gpu, 'device'))) < FIRST_TURING)
}
