// What CUDA C++ has no words for: instructions of Hopper (sm_90a), by the names of the PTX manual.

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

#define DEVICE __device__ __forceinline__

struct __align__(64) TensorMap { u64 words[16]; };

DEVICE u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }

// ---- barriers in shared memory: `full` counts bytes that arrive, `empty` who has read them

DEVICE void barrier_init(u32 barrier, u32 count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count));
}
DEVICE void barriers_are_there() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
DEVICE void barrier_expect(u32 barrier, u32 bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}
DEVICE void barrier_arrive(u32 barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
DEVICE void barrier_wait(u32 barrier, u32 parity) {
  asm volatile(
      "{\n.reg .pred p;\n"
      "WAIT:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra DONE;\nbra WAIT;\nDONE:\n}"
      ::"r"(barrier), "r"(parity) : "memory");
}

// ---- barriers of warps, by number; 0 is that of __syncthreads

DEVICE void named_barrier(int number, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// Without waiting for those who do.
DEVICE void named_barrier_arrive(int number, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(number), "r"(threads) : "memory");
}

// ---- the memory engine

DEVICE void prefetch(const TensorMap* map) { asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory"); }
DEVICE void load_box(u32 to, const TensorMap* map, int x, int y, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
      ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(barrier) : "memory");
}
DEVICE void load_box(u32 to, const TensorMap* map, int x, int y, int z, u32 barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
      ::"r"(to), "l"(map), "r"(x), "r"(y), "r"(z), "r"(barrier) : "memory");
}
DEVICE void store_box(const TensorMap* map, int x, int y, int z, u32 from) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%1, %2, %3}], [%4];"
               ::"l"(map), "r"(x), "r"(y), "r"(z), "r"(from) : "memory");
}
DEVICE void stores_commit() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
DEVICE void stores_have_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }
// What this thread wrote is there for the memory engine and for products.
DEVICE void shared_fence() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

// ---- products of a warp group, of operands in shared memory

DEVICE void products_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void products_commit() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }
template <int LEFT> DEVICE void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(LEFT) : "memory");
}
// Rows of 64 and of 32 elements, as the memory engine swizzles them. 16 elements further are 2 more.
// A descriptor: address, bytes from eight rows to the next eight, both by 16, and the swizzle (1: 128 bytes, 2: 64).
DEVICE u64 operand(u32 address, u64 eight_rows, u64 swizzle) {
  return (u64)((address & 0x3FFFF) >> 4) | 1ull << 16 | (eight_rows >> 4) << 32 | swizzle << 62;
}
DEVICE u64 operand_of_64(u32 address) { return operand(address, 8 * 128, 1); }
DEVICE u64 operand_of_32(u32 address) { return operand(address, 8 * 64, 2); }

// ---- two or four matrices of 8 by 8, as products have them in registers

template <int MATRICES> DEVICE void load_matrices(u32 (&r)[MATRICES], u32 address) {
  static_assert(MATRICES == 2 || MATRICES == 4, "matrices");
  if constexpr (MATRICES == 4)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address) : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0,%1}, [%2];"
                 : "=r"(r[0]), "=r"(r[1]) : "r"(address) : "memory");
}
template <int MATRICES> DEVICE void store_matrices(u32 address, const u32 (&r)[MATRICES]) {
  static_assert(MATRICES == 2 || MATRICES == 4, "matrices");
  if constexpr (MATRICES == 4)
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};"
                 ::"r"(address), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");
  else
    asm volatile("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%0], {%1,%2};"
                 ::"r"(address), "r"(r[0]), "r"(r[1]) : "memory");
}

// ---- memory

// Anew each time, as another program may write it meanwhile.
DEVICE uint4 load_volatile(const u32* p) {
  uint4 v;
  asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p) : "memory");
  return v;
}
DEVICE int load_acquire(const int* p) {
  int v;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
// Behind all that this thread has stored, or others before a barrier with it.
DEVICE void store_release(int* p, int value) {
  asm volatile("fence.acq_rel.gpu;\nst.relaxed.gpu.global.s32 [%0], %1;"
               ::"l"(p), "r"(value) : "memory");
}
DEVICE int count_up(int* p) {
  int before;
  asm volatile("atom.add.relaxed.gpu.global.s32 %0, [%1], 1;" : "=r"(before) : "l"(p) : "memory");
  return before;
}

// ---- bf16

DEVICE u32 pack(float low, float high) {
  u32 r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}
DEVICE float low_of(u32 v) { return __uint_as_float(v << 16); }
DEVICE float high_of(u32 v) { return __uint_as_float(v & 0xFFFF0000u); }

// ---- programmatic dependent launch, see engine.kernels.launch

DEVICE void kernel_before_is_done() { asm volatile("griddepcontrol.wait;" ::: "memory"); }
DEVICE void kernel_behind_may_start() { asm volatile("griddepcontrol.launch_dependents;" ::: "memory"); }
