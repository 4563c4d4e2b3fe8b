/** Scans an operand for the range of its finite values, and for the infinity that isn't the semiring's zero. */
import { GREATEST, KEY, LEAST, OTHER, readers, type StoredBits, TINIEST } from './arithmetic.js'

/**
 * WGSL of a scan. `zero` is the bits of the semiring's zero. The inner dimension is the one whose elements are near each other in memory.
 */
export const scan = (bits: StoredBits, isFloat: boolean, zero: number): string => `
@group(0) @binding(0) var<storage, read> src: array<u32>;
struct P { offset: u32, outer: u32, inner: u32, os: u32, is: u32, batch: u32, bs: u32, facts: u32 }
@group(0) @binding(9) var<uniform> p: P;
@group(0) @binding(2) var<storage, read_write> status: array<atomic<i32>>;
var<workgroup> least: atomic<i32>; var<workgroup> greatest: atomic<i32>;
var<workgroup> other: atomic<i32>; var<workgroup> tiniest: atomic<i32>;
${readers[bits]}
${KEY}
@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) w: vec3<u32>, @builtin(num_workgroups) nw: vec3<u32>, @builtin(local_invocation_index) t: u32) {
  if (t == 0u) {
    atomicStore(&least, 0x7fffffff); atomicStore(&greatest, -0x7fffffff - 1); atomicStore(&other, 0); atomicStore(&tiniest, 0x7fffffff);
  }
  workgroupBarrier();
  var l = 0x7fffffff; var h = -0x7fffffff - 1; var g = 0; var s = 0x7fffffff;
  for (var i = w.x; i < p.outer * p.batch; i += nw.x) {
    let row = p.offset + (i / p.outer) * p.bs + (i % p.outer) * p.os;
    for (var j = t; j < p.inner; j += 256u) {
      let x = raw(row + j * p.is);
      if (x == ${zero}u) { continue; }
      ${
        isFloat
          ? `if (is_nan(x)) { continue; }
      if (x == ${(zero ^ 0x80000000) >>> 0}u) { g = 1; continue; }
      let m = bitcast<i32>(x & 0x7fffffffu); if (m != 0) { s = min(s, m); }
      let v = key(x);`
          : 'let v = bitcast<i32>(x);'
      }
      l = min(l, v); h = max(h, v);
    }
  }
  atomicMin(&least, l); atomicMax(&greatest, h); atomicMax(&other, g); atomicMin(&tiniest, s);
  workgroupBarrier();
  if (t == 0u) {
    atomicMin(&status[p.facts + ${LEAST}u], atomicLoad(&least)); atomicMax(&status[p.facts + ${GREATEST}u], atomicLoad(&greatest));
    atomicMax(&status[p.facts + ${OTHER}u], atomicLoad(&other)); atomicMin(&status[p.facts + ${TINIEST}u], atomicLoad(&tiniest));
  }
}`
