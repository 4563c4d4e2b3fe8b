/** Packs an operand k-major, padded to whole tiles, in the form in which product kernels read it. */
import { FACTS, KEY, type Mode, ranges, readers, type StoredBits } from './arithmetic.js'

/**
 * WGSL that packs: dst[z][k][m]. In the mode 'offset' the operand's offset is subtracted and zero becomes a value whose sums lie beyond
 * 0. `shift` leaves room for k below each value, so that a plain product also finds the k that decides (product.ts). `k0` is the first k.
 */
export function pack(bits: StoredBits, mode: Mode | 'wide', zero: number, isMax: boolean): string {
  const element = {
    offset: `let v = select(bitcast<i32>(x) - offset_of(p.facts), beyond, x == ${zero}u) << p.shift;
  return bitcast<u32>(v + select(0, i32(${isMax ? '(1u << p.shift) - 1u - p.k0 - k' : 'p.k0 + k'}), p.tagged == 1u));`,
    wide: `return select(x, ${isMax ? '0x80000000u' : '0x7fffffffu'}, x == ${zero}u);`,
    plain: `return select(x, ${isMax ? '0x80000000u' : '0x7fffffffu'}, x == ${zero}u);`,
    float: `return select(x, ${isMax ? '0xfe800000u' : '0x7e800000u'}, x == ${zero}u || is_nan(x));`,
    keys: `return select(bitcast<u32>(key(x)), bitcast<u32>(key(${zero}u)), is_nan(x));`,
    bits: '',
  }[mode]
  return `
@group(0) @binding(0) var<storage, read> src: array<u32>;
struct P {
  offset: u32, ks: i32, ms: i32, bs: u32, k: u32, m: u32, kp: u32, mp: u32,
  facts: u32, shift: u32, tagged: u32, k0: u32
}
@group(0) @binding(9) var<uniform> p: P;
@group(0) @binding(2) var<storage, read_write> dst: array<u32>;
${mode === 'offset' ? '@group(0) @binding(3) var<storage, read> status: array<i32>;' : ''}
var<workgroup> tile: array<u32, 272>;
${readers[bits]}
${KEY}
${mode === 'offset' ? ranges(isMax, (at) => `status[${at}]`) : ''}
fn element(z: u32, k: u32, m: u32, beyond: i32) -> u32 {
  let line = p.offset + z * p.bs + m * u32(p.ms);
  ${
    mode === 'bits'
      ? `var word = 0u;
  if (m >= p.m) { return word; }
  for (var b = 0u; b < 32u; b++) {
    let kk = k * 32u + b;
    if (kk < p.k && raw(line + kk * u32(p.ks)) != 0u) { word |= 1u << b; }
  }
  return word;`
      : `var x: u32;
  if (m < p.m && k < p.k) { x = raw(line + k * u32(p.ks)); } else { x = ${zero}u; }
  ${element}`
  }
}
@compute @workgroup_size(16, 16)
fn main(@builtin(workgroup_id) w: vec3<u32>, @builtin(local_invocation_id) l: vec3<u32>) {
  let k0 = w.y * 16u; let m0 = w.x * 16u;
  ${
    mode === 'offset'
      ? `let other = i32(width_of(${FACTS[0] + FACTS[1]}u - p.facts)) + 1; let beyond = ${isMax ? '-other' : 'other'};`
      : 'let beyond = 0;'
  }
  // Neighbouring invocations read and write neighbouring words: through a tile if the near dimension is k.
  if (abs(p.ks) < abs(p.ms)) {
    tile[l.x * 17u + l.y] = element(w.z, k0 + l.x, m0 + l.y, beyond);
  } else {
    tile[l.y * 17u + l.x] = element(w.z, k0 + l.y, m0 + l.x, beyond);
  }
  workgroupBarrier();
  let k = k0 + l.y; let m = m0 + l.x;
  if (k < p.kp && m < p.mp) { dst[(w.z * p.kp + k) * p.mp + m] = tile[l.y * 17u + l.x]; }
}`
}
