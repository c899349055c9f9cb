// y = x W^T, and up (down x) for rows with an adapter: up to 64 rows, each an entry of its own.
//
// Programs take a processor each. The first `num_side` make `down x`, of 512 elements of K at a time. They begin first
// and wait for no others, so nobody waits for them in vain. The others make a tile each, of all rows and TILE_N
// outputs. Two groups of a tile take the steps of K in turn, and then slots: up hidden, with zeros in the rows of
// others. Its third group reads hidden meanwhile.
//
// To read weights and adapters takes longest. No kernel of a step writes them, so programs fill the room that they have
// with them before the kernel before is done.
//
// What `down` makes is there when it is no longer the zero that stood there before, so that it is waited for by reading
// it. A launch writes one of two places and leaves zeros in the other, for the next one.
//
// Words: see programs.cuh. An item is 512 elements of K of a row; a turn is an entry with an adapter, see turns_of.
//
// The compiler is given K, N, PARTS, FIRST, OTHER, FLOATS, SIDE_STAGES, STAGES, HIDDEN and SHARED_BYTES, see
// row_linear.py.

struct Arguments {
  const int* turns;  // see engine.layers.low_rank.turns_of
  int num_rows, num_side;
  int* signals;      // how many programs are done, and in which place launches write
  u32* hidden;       // bits of floats, [2][HIDDEN], of which [turns][SPLITS of K][PARTS][RANK] are in use
  const u16* x;
  void* y;           // [num_rows, N], of floats or bf16
};

constexpr int ROWS = 64, TILE_N = 32, MAX_SLOTS = 32;
constexpr int MAKERS = 2 * GROUP_THREADS, PRODUCER = MAKERS + GROUP_THREADS;
constexpr int HIDDEN_THERE = OTHER_BARRIERS, UP_THERE = HIDDEN_THERE + 8, BARRIERS = UP_THERE / 8 + 1;
constexpr int PLACES = 4;  // for what items make
enum { BOTH_GROUPS = 1, GIVEN = 2, TAKEN = GIVEN + PLACES };  // numbers of barriers of warps

// Known once the kernel before is done.
DEVICE u32* hidden_of(const Arguments& a, bool written = true) {
  return a.hidden + ((__ldcg(a.signals + 1) != 0) == written ? HIDDEN : 0);
}

@PARTS@

static_assert(TILE_END <= SHARED_BYTES && SIDE_END <= SHARED_BYTES, "shared memory");

// The last program to end has the next launch write in the other place.
DEVICE void leave(const Arguments& a) {
  if (count_up(a.signals) < gridDim.x - 1) return;
  a.signals[0] = 0;
  __stcg(a.signals + 1, __ldcg(a.signals + 1) ^ 1);
}

extern "C" __global__ void __launch_bounds__(PRODUCER + 32, 1) row_linear_with_adapters(
    const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap weight,
    const __grid_constant__ TensorMap down, const __grid_constant__ TensorMap up, const Arguments a) {
  extern __shared__ __align__(1024) u8 memory[];
  __shared__ __align__(8) u64 barriers_[BARRIERS];
  __shared__ Slots slots;
  u32 ring = shared_address(memory), barriers = shared_address(barriers_);
  bool side = blockIdx.x < a.num_side;
  int column = (blockIdx.x - a.num_side) * TILE_N;
  if (threadIdx.x == PRODUCER) {
    prefetch(side ? &down : &weight);
    if (!side) prefetch(&x), prefetch(&up);
    for (int i = 0; i < (side ? SIDE_STAGES : STAGES); i++) {
      barrier_init(barriers + FULL + i * 8, 1);
      barrier_init(barriers + EMPTY + i * 8, 1);
    }
    if (!side) barrier_init(barriers + HIDDEN_THERE, GROUP_THREADS / 32);
    if (!side) barrier_init(barriers + UP_THERE, 1);
    barriers_are_there();
  }
  __syncthreads();
  kernel_behind_may_start();
  if (threadIdx.x >= PRODUCER) {
    if (!side) bring_tile(ring, barriers, &x, &weight, &up, slots, column, a);
    else if (lane_of() == 0) bring_items(ring, barriers, &down, a);
    __syncwarp();
  } else if (threadIdx.x >= MAKERS) {
    if (!side) read_hidden(memory, barriers, part_of(column), a);
    else if (threadIdx.x < MAKERS + 32) give_items(memory, a);
  } else if (side) {
    make_items(memory, barriers, a);
  } else {
    make_tile(memory, ring, barriers, slots, column, a);
  }
  __syncthreads();
  if (threadIdx.x == 0) leave(a);
}
