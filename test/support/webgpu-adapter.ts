/** Adapter for tests of WebGPU: a GPU, or a software adapter if no GPU exists. */
import { existsSync } from 'node:fs'

/**
 * SwiftShader of Debian's package chromium. Vulkan finds Mesa's software driver like the installed drivers.
 */
const swiftShader = '/usr/lib/chromium/vk_swiftshader_icd.json'
const hasDriver = existsSync('/usr/share/vulkan/icd.d') || existsSync('/etc/vulkan/icd.d')

/** Permits software adapters, and selects SwiftShader as Vulkan's driver if no driver is installed. */
export function allowSoftware(): void {
  process.env.MPMML_WEBGPU_FALLBACK ??= '1'
  if (process.platform === 'linux' && !hasDriver && existsSync(swiftShader)) {
    process.env.VK_DRIVER_FILES ??= swiftShader
  }
}
