// What programs of both kernels are made of.
//
// Words: a program is a block of threads, a group a warp group, the memory engine TMA (cp.async.bulk.tensor), a
// product wgmma.

constexpr int RANK = 32, GROUP_THREADS = 128;
constexpr int FULL = 0, EMPTY = 256, OTHER_BARRIERS = 512;  // where barriers lie; of either 32, and some more

// Stages in shared memory, through which the memory engine brings what groups read.
struct Ring {
  u32 barriers;
  int stages, stage = 0;
  u32 phase = 0;
  DEVICE Ring(u32 barriers_, int stages_) : barriers(barriers_), stages(stages_) {}
  DEVICE u32 full() const { return barriers + FULL + stage * 8; }
  DEVICE u32 empty() const { return barriers + EMPTY + stage * 8; }
  DEVICE void wait_full() const { barrier_wait(full(), phase); }
  DEVICE void wait_empty() const { barrier_wait(empty(), phase ^ 1); }
  DEVICE void next(int further = 1) {
    stage += further;
    if (stage >= stages) {
      stage -= stages;
      phase ^= 1;
    }
  }
};

DEVICE int group_of() { return threadIdx.x / GROUP_THREADS; }
DEVICE int warp_of() { return threadIdx.x / 32 % 4; }  // of its group
DEVICE int lane_of() { return threadIdx.x % 32; }
DEVICE bool first_of_group() { return threadIdx.x % GROUP_THREADS == 0; }

