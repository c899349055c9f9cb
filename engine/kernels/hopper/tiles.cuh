// Tiles of 64 rows of either branch and TILE_N outputs, 64 elements of K in a step. A group has the rows of a branch,
// so that both have those of the same entries.
//
// Behind those of K a tile has a step of 32 for each slot among its rows: up hidden. Rows of others are zeros there.

constexpr int GROUP_M = 64, TILE_M = 2 * GROUP_M, STEP = 64, NUM_STEPS = K / STEP;
constexpr int ROWS_BYTES = TILE_M * STEP * 2, STAGE_BYTES = ROWS_BYTES + TILE_N * STEP * 2;
constexpr int UP_BYTES = TILE_N * RANK * 2, UPS = STAGE_BYTES / UP_BYTES;  // in a stage
// A tile goes to memory in boxes of 64 rows; those of a residual arrive where it will leave from. Boxes of 64 columns
// are swizzled. A single box has rows of 16 bytes times an odd number, which serves as well.
constexpr bool SWIZZLED = TILE_N % 64 == 0;
constexpr int BOX_COLUMNS = SWIZZLED ? 64 : TILE_N, BOX_BYTES = 64 * BOX_COLUMNS * 2;
constexpr int BOXES = TILE_N / BOX_COLUMNS, GROUP_BYTES = BOXES * BOX_BYTES;
constexpr int RING_BYTES = STAGES * STAGE_BYTES, TILE_AT = RESIDUAL ? RING_BYTES : 0;
constexpr int TILE_END = RING_BYTES + RESIDUAL * 2 * GROUP_BYTES;
static_assert(TILE_AT + 2 * GROUP_BYTES <= TILE_END, "a tile lies in its ring, or behind it");
static_assert(UPS >= 1 && UP_BYTES % 512 == 0, "up");
static_assert(K % STEP == 0 && STAGES <= 32 && EARLY <= STAGES && STAGES <= NUM_STEPS, "steps");
static_assert(TILE_N % 8 == 0 && (SWIZZLED || TILE_N % 16 == 8) && STAGE_BYTES % 1024 == 0, "columns");
static_assert(PARTS == 1 || (FIRST % TILE_N == 0 && OTHER % TILE_N == 0), "a tile belongs to one part");

struct TilePlace { int row, column; };  // of a branch

// Tiles that share columns are neighbours, so that they read the same weights at the same time.
DEVICE TilePlace tile_place(int tile, int branch_rows) {
  int row_tiles = (branch_rows + GROUP_M - 1) / GROUP_M;
  return {tile % row_tiles * GROUP_M, tile / row_tiles * TILE_N};
}

// Of 8 columns of a row of a group, in its boxes.
DEVICE u32 place_in_group(int row, int eighth) {
  if (!SWIZZLED) return row * BOX_COLUMNS * 2 + eighth * 16;
  return eighth / 8 * BOX_BYTES + row * 128 + ((eighth % 8 ^ (row & 7)) << 4);
}

// The slots of a tile's rows, by the numbers of lanes: lane i knows that of the i-th entry of the tile.
struct Slots {
  int slot, turn;  // -1: none
  u32 different;   // each once

  DEVICE Slots(const TilePlace& p, const Arguments& a) {
    int entry = p.row / a.repeat + lane_of();
    bool here = entry * a.repeat < min(p.row + GROUP_M, a.branch_rows);
    const int* turns = a.turns + 1 + 2 * a.num_entries + (here ? entry : 0);
    turn = here ? turns[0] : -1, slot = here ? turns[a.num_entries] : -1;
    u32 same = __match_any_sync(~0u, slot);
    different = __ballot_sync(~0u, slot >= 0 && (same & ((1u << lane_of()) - 1)) == 0);
  }
};

// Weights come before the kernel that makes x is done, for the first stages. By a warp, of which one thread does it.
DEVICE void bring_tile(u32 memory, u32 barriers, const TensorMap* x, const TensorMap* weight, const TensorMap* y,
                       const TensorMap* up, const TilePlace& p, const Arguments& a) {
  Slots slots(p, a);
  Ring ring(barriers, STAGES);
  bool brings = lane_of() == 0;
  if (brings)
    for (int i = 0; i < EARLY; i++) {
      barrier_expect(barriers + FULL + i * 8, STAGE_BYTES);
      load_box(memory + i * STAGE_BYTES + ROWS_BYTES, weight, i * STEP, p.column, barriers + FULL + i * 8);
    }
  kernel_before_is_done();
  for (int i = 0; brings && i < NUM_STEPS; i++, ring.next()) {
    u32 at = memory + ring.stage * STAGE_BYTES, full = ring.full();
    if (i >= EARLY) {
      ring.wait_empty();
      barrier_expect(full, STAGE_BYTES);
      load_box(at + ROWS_BYTES, weight, i * STEP, p.column, full);
    }
    load_box(at, x, i * STEP, p.row, 0, full);
    if (RESIDUAL && i == STAGES - 1) {
      barrier_expect(barriers + RESIDUAL_FULL, 2 * GROUP_BYTES);
      for (int box = 0; box < 2 * BOXES; box++) {
        u32 to = memory + TILE_AT + box * BOX_BYTES;
        load_box(to, y, p.column + box % BOXES * BOX_COLUMNS, p.row, box / BOXES, barriers + RESIDUAL_FULL);
      }
    }
  }
  __syncwarp();
  if (slots.different != 0) {
    // What all of the tile need is looked for once, or those who look would wait for each other.
    if (slots.turn >= 0)
      while (load_acquire(signal_of(a, slots.turn)) == 0) {}
    __syncwarp();
    if (brings) barrier_arrive(barriers + HIDDEN_THERE);
  }
  for (u32 left = slots.different; left != 0; ring.next()) {
    int count = min(__popc(left), UPS);
    if (brings) {
      ring.wait_empty();
      barrier_expect(ring.full(), count * UP_BYTES);
    }
    for (int i = 0; i < count; i++, left &= left - 1) {
      int slot = __shfl_sync(~0u, slots.slot, __ffs(left) - 1);
      if (brings) load_box(memory + ring.stage * STAGE_BYTES + i * UP_BYTES, up, 0, p.column, slot, ring.full());
    }
  }
}

// Of a row its slot, its turn and its line in its entry, in 16, 10 and 5 bits, since registers are few.
struct Given {
  int packed;  // -1: none

  // Of a branch.
  DEVICE Given(int row, int branch, const Arguments& a) {
    int entry = row / a.repeat;
    bool there = row < a.branch_rows;
    const int* turns = a.turns + 1 + 2 * a.num_entries + (there ? entry : 0);
    int slot = there ? turns[a.num_entries] : -1;
    packed = slot < 0 ? -1 : (slot << 10 | turns[0]) * LINES + (branch - entry) * a.repeat + row;
  }
  DEVICE int slot() const { return packed >> 15; }
  DEVICE int turn() const { return packed >> 5 & 1023; }
  DEVICE int line() const { return packed & 31; }
};

// What `down` makes of two rows of a thread, as a product of two times 16 ranks wants it.
DEVICE void load_hidden(u32 (&hidden)[8], const Given (&given)[2], int part, const Arguments& a) {
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const Given& row = given[i % 2];
    u32* at = hidden_of(a, row.turn(), part, row.line(), i / 2 * 8 + lane_of() % 4 * 2);
    hidden[i] = row.packed >= 0 ? __ldcg(at) : 0;
  }
}

// Steps of K. A stage is free when the product after the one that reads it is under way: then that one is done.
// `before` is the barrier of the last stage, whose product is under way.
DEVICE void multiply_steps(float (&sums)[TILE_N / 2], u32 memory, Ring& ring, u32& before, int count) {
  for (int i = 0; i < count; i++, ring.next()) {
    ring.wait_full();
    u32 at = memory + ring.stage * STAGE_BYTES;
    u64 rows = operand_of_64(at + group_of() * (ROWS_BYTES / 2)), weights = operand_of_64(at + ROWS_BYTES);
    products_begin();
#pragma unroll
    for (int k = 0; k < STEP / 16; k++) product_of_tile(sums, rows + k * 2, weights + k * 2);
    products_commit();
    products_wait<1>();
    if (before != 0 && first_of_group()) barrier_arrive(before);
    before = ring.empty();
  }
}

// The steps of slots, some in a stage. Rows of other slots are zeros, and slots hold finite numbers alone.
DEVICE void multiply_slots(float (&sums)[TILE_N / 2], u32 memory, Ring& ring, const Slots& slots,
                           const u32 (&hidden)[8], const Given (&given)[2]) {
  for (u32 left = slots.different; left != 0; ring.next()) {
    ring.wait_full();
    u32 at = memory + ring.stage * STAGE_BYTES;
    for (int i = 0; i < UPS && left != 0; i++, left &= left - 1, at += UP_BYTES) {
      int slot = __shfl_sync(~0u, slots.slot, __ffs(left) - 1);
      u32 own[8];
#pragma unroll
      for (int k = 0; k < 8; k++) own[k] = given[k % 2].slot() == slot ? hidden[k] : 0;
      u64 up = operand_of_32(at);
      products_begin();
      product_of_slot(sums, own[0], own[1], own[2], own[3], up);
      product_of_slot(sums, own[4], own[5], own[6], own[7], up + 2);
      products_commit();
      products_wait<0>();
    }
    if (first_of_group()) barrier_arrive(ring.empty());
  }
}

DEVICE void send_box(const TensorMap* y, const TilePlace& p, u32 tile, int box) {
  store_box(y, p.column + box * BOX_COLUMNS, p.row, group_of(), tile + box * BOX_BYTES);
  stores_commit();
}

// 8 columns, or twice as many, of 16 rows, rounded as the matrix library rounds them.
template <int EIGHTHS> DEVICE void place_sums(const float* sums, u32 at, float alpha) {
  u32 made[2 * EIGHTHS];
  if (RESIDUAL) load_matrices(made, at);
#pragma unroll
  for (int i = 0; i < 2 * EIGHTHS; i++) {
    float low = sums[2 * i], high = sums[2 * i + 1];
    made[i] = RESIDUAL ? pack(fmaf(alpha, low, low_of(made[i])), fmaf(alpha, high, high_of(made[i]))) : pack(low, high);
  }
  store_matrices(at, made);
}

DEVICE void make_tile(u32 memory, u32 barriers, const TensorMap* y, const TilePlace& p, const Arguments& a) {
  int group = group_of(), row = p.row + warp_of() * 16 + lane_of() / 4;
  Slots slots(p, a);
  Given given[2] = {Given(row, group, a), Given(row + 8, group, a)};
  int part = PARTS == 1 || p.column < FIRST ? 0 : 1 + (p.column - FIRST) / OTHER;
  kernel_before_is_done();
  Ring ring(barriers, STAGES);
  float sums[TILE_N / 2];
#pragma unroll
  for (int i = 0; i < TILE_N / 2; i++) sums[i] = 0.f;
  u32 hidden[8], last = 0;
  multiply_steps(sums, memory, ring, last, NUM_STEPS - 1);
  if (slots.different != 0) {
    barrier_wait(barriers + HIDDEN_THERE, 0);
    load_hidden(hidden, given, part, a);
  }
  multiply_steps(sums, memory, ring, last, 1);
  products_wait<0>();
  if (first_of_group()) barrier_arrive(last);
  multiply_slots(sums, memory, ring, slots, hidden, given);
  if (RESIDUAL) barrier_wait(barriers + RESIDUAL_FULL, 0);
  else named_barrier(BOTH_GROUPS, 2 * GROUP_THREADS);  // both have read the ring
  u32 tile = memory + TILE_AT + group * GROUP_BYTES;
  int matrix = lane_of() / 8, line = warp_of() * 16 + matrix % 2 * 8 + lane_of() % 8;
#pragma unroll
  for (int j = 0; j < TILE_N / 8; j += 2) {
    u32 at = tile + place_in_group(line, j + matrix / 2);
    if (j + 1 < TILE_N / 8) place_sums<2>(sums + 4 * j, at, a.alpha);
    else place_sums<1>(sums + 4 * j, at, a.alpha);
    if (j + 2 >= TILE_N / 8 || (j + 2) % (BOX_COLUMNS / 8) == 0) {
      shared_fence();
      named_barrier(GROUP + group, GROUP_THREADS);
      if (first_of_group()) send_box(y, p, tile, j * 8 / BOX_COLUMNS);
    }
  }
  if (first_of_group()) stores_have_read();
}
