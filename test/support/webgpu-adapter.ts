/** The adapter that tests of WebGPU run on: a GPU, or software where there is none. */
import { existsSync } from 'node:fs'

/** Software that Debian's package chromium brings. Mesa's is found as the machine's own drivers are. */
const swiftShader = '/usr/lib/chromium/vk_swiftshader_icd.json'
const hasDriver = existsSync('/usr/share/vulkan/icd.d') || existsSync('/etc/vulkan/icd.d')

/** Lets WebGPU take software, and names that of Chromium to Vulkan where no driver is installed. */
export function allowSoftware(): void {
  process.env.MPMML_WEBGPU_FALLBACK ??= '1'
  if (process.platform === 'linux' && !hasDriver && existsSync(swiftShader)) {
    process.env.VK_DRIVER_FILES ??= swiftShader
  }
}
