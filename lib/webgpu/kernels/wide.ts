/** Products of int32 whose sums have 33 bits: half a sum in one register, its lowest bit in another. */

/**
 * WGSL. Operands are packed in the mode 'wide'. c gets half the best sum, `low` its lowest bit, or 2 if there is no candidate. A thread
 * computes one element, in a few times the time of a plain product (product.ts), whose uniforms it has.
 */
export const wide = (isMax: boolean): string => {
  const better = isMax ? '>' : '<'
  return `
@group(0) @binding(0) var<storage, read> at: array<i32>;
@group(0) @binding(1) var<storage, read> b: array<i32>;
@group(0) @binding(2) var<storage, read_write> c: array<i32>;
struct P { m4: u32, n4: u32, k0: u32, k1: u32, y0: u32, first: u32, start: u32, za: u32, zb: u32 }
@group(0) @binding(9) var<uniform> p: P;
@group(0) @binding(4) var<storage, read_write> low: array<i32>;
var<workgroup> sa: array<i32, 256>; var<workgroup> sb: array<i32, 256>;
const ZERO = i32(${isMax ? '-0x7fffffff - 1' : '0x7fffffff'});
@compute @workgroup_size(16, 16)
fn main(@builtin(workgroup_id) w: vec3<u32>, @builtin(local_invocation_id) l: vec3<u32>) {
  let row = (w.y + p.y0) * 16u; let col = w.x * 16u; let mp = p.m4 * 4u; let np = p.n4 * 4u;
  let e = (w.z * mp + row + l.y) * np + col + l.x;
  var best = 0; var bit = 2;
  if (p.first == 0u) { best = c[e]; bit = low[e]; }
  for (var k0 = p.k0; k0 < p.k1; k0 += 16u) {
    sa[l.y * 16u + l.x] = at[w.z * p.za * 4u + (k0 + l.y) * mp + row + l.x];
    sb[l.y * 16u + l.x] = b[w.z * p.zb * 4u + (k0 + l.y) * np + col + l.x];
    workgroupBarrier();
    for (var k = 0u; k < 16u; k++) {
      let x = sa[k * 16u + l.y]; let y = sb[k * 16u + l.x];
      let h = (x >> 1u) + (y >> 1u) + (x & y & 1); let o = (x ^ y) & 1;
      let wins = x != ZERO && y != ZERO && (bit == 2 || h ${better} best || (h == best && o ${better} bit));
      best = select(best, h, wins); bit = select(bit, o, wins);
    }
    workgroupBarrier();
  }
  c[e] = best; low[e] = bit;
}`
}
