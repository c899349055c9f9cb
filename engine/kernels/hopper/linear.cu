// y = x W^T, or y += alpha x W^T, and up (down x) for rows with an adapter.
//
// Programs take a processor each. The first `num_side` make `down x` of rows with an adapter (entries.cuh), the others
// a tile each (tiles.cuh), which multiplies `up` with that at its end. There are so few that all of them run at
// once, and the first ones begin first, so nobody waits in vain.
//
// Warps 0 to 3 and 4 to 7 are two groups that multiply; a thread of warp 8 has the memory engine bring what
// they read, through a ring of stages in shared memory.
//
// Words: see programs.cuh. A step is 64 elements of K; a turn is an entry with an adapter, see turns_of.
//
// Before the kernel before is done (griddepcontrol.wait) programs read what no kernel of a step writes: weights,
// matrices of adapters, and turns. Launches that share signals follow each other, on one stream.
//
// The compiler is given K, N, TILE_N, STAGES, EARLY, PARTS, FIRST, OTHER, RESIDUAL, SIDE_STAGES and SHARED_BYTES,
// see linear.py.

struct Arguments {
  const int* turns;    // see engine.layers.low_rank.turns_of
  int num_entries;
  int branch_rows;     // in each of two branches
  int repeat;          // rows of an entry in a branch
  int num_side;
  float alpha;
  u16* hidden;         // what `down` makes, [turns][PARTS][LINES][RANK]
  int* signals;        // how many programs are done, then of each turn whether its part of hidden is there
};

constexpr int LINES = 32, PRODUCER = 2 * GROUP_THREADS;
constexpr int RESIDUAL_FULL = OTHER_BARRIERS, HIDDEN_THERE = RESIDUAL_FULL + 8, BARRIERS = HIDDEN_THERE / 8 + 1;
enum { BOTH_GROUPS = 1, GROUP = 2 };  // numbers of barriers of warps; GROUP and GROUP + 1 are a group's own

DEVICE int* signal_of(const Arguments& a, int turn) { return a.signals + 1 + turn; }
// Of two ranks.
DEVICE u32* hidden_of(const Arguments& a, int turn, int part, int line, int rank) {
  return (u32*)(a.hidden + ((turn * PARTS + part) * LINES + line) * RANK + rank);
}

@PARTS@

static_assert(TILE_END <= SHARED_BYTES && SIDE_END <= SHARED_BYTES, "shared memory");

// The last program to end leaves the signals as the next launch wants them. Each signal that was set has been seen
// by some tile, since every turn has rows, and a tile counts itself behind that: so nothing that sets one is still
// on its way. The end of the kernel brings the zeros to the next launch.
DEVICE void leave(const Arguments& a) {
  int lane = lane_of(), before = lane == 0 ? count_up(a.signals) : 0;
  if (__shfl_sync(~0u, before, 0) < gridDim.x - 1) return;
  for (int i = lane; i < 1 + a.turns[0]; i += 32) a.signals[i] = 0;
}

extern "C" __global__ void __launch_bounds__(PRODUCER + 32, 1) linear_with_adapters(
    const __grid_constant__ TensorMap x, const __grid_constant__ TensorMap weight, const __grid_constant__ TensorMap y,
    const __grid_constant__ TensorMap entries, const __grid_constant__ TensorMap down,
    const __grid_constant__ TensorMap up, const Arguments a) {
  extern __shared__ __align__(1024) u8 memory[];
  __shared__ __align__(8) u64 barriers_[BARRIERS];
  u32 ring = shared_address(memory), barriers = shared_address(barriers_);
  bool side = blockIdx.x < a.num_side;
  TilePlace place = tile_place(blockIdx.x - a.num_side, a.branch_rows);
  if (threadIdx.x == PRODUCER) {
    prefetch(side ? &down : &weight);
    prefetch(side ? &entries : &x);
    if (!side) prefetch(&y);
    for (int i = 0; i < (side ? SIDE_STAGES : STAGES); i++) {
      barrier_init(barriers + FULL + i * 8, 1);
      barrier_init(barriers + EMPTY + i * 8, side ? 1 : 2);
    }
    if (RESIDUAL && !side) barrier_init(barriers + RESIDUAL_FULL, 1);
    if (!side) barrier_init(barriers + HIDDEN_THERE, 1);
    barriers_are_there();
  }
  __syncthreads();
  kernel_behind_may_start();
  if (threadIdx.x >= PRODUCER) {
    if (!side) bring_tile(ring, barriers, &x, &weight, &y, &up, place, a);
    else if (threadIdx.x == PRODUCER) bring_entries(ring, barriers, &entries, &down, a, blockIdx.x);
    __syncwarp();
  } else if (!side) {
    make_tile(ring, barriers, &y, place, a);
  } else if (group_of() == 0) {
    make_entries(ring, barriers, a, blockIdx.x);
  } else if (warp_of() == 0) {
    tell_of_entries(a, blockIdx.x);
  }
  __syncthreads();
  if (threadIdx.x < 32) leave(a);
}
