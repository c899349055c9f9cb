// Tiles of 128 rows and TILE_N outputs, 64 elements of K in a step; either group has 64 rows.

constexpr int TILE_M = 128, STEP = 64, NUM_STEPS = K / STEP;
constexpr int ROWS_BYTES = TILE_M * STEP * 2, STAGE_BYTES = ROWS_BYTES + TILE_N * STEP * 2;
// A tile goes to memory in boxes of 64 rows and columns; those of a residual arrive where it will leave from.
constexpr int BOX_COLUMNS = 64, BOX_BYTES = 64 * 128, GROUP_BYTES = TILE_N / BOX_COLUMNS * BOX_BYTES;
constexpr int RING_BYTES = STAGES * STAGE_BYTES, TILE_AT = RESIDUAL ? RING_BYTES : 0;
constexpr int TILE_END = RING_BYTES + RESIDUAL * 2 * GROUP_BYTES;
static_assert(TILE_AT + 2 * GROUP_BYTES <= TILE_END, "a tile lies in its ring, or behind it");
static_assert(K % STEP == 0 && N % TILE_N == 0 && STAGES <= 7 && EARLY <= STAGES && STAGES <= NUM_STEPS, "shape");

struct TilePlace { int row, column; };

// Tiles that share columns are neighbours, so that they read the same weights at the same time.
DEVICE TilePlace tile_place(int tile, int num_rows) {
  int row_tiles = (num_rows + TILE_M - 1) / TILE_M;
  return {tile % row_tiles * TILE_M, tile / row_tiles * TILE_N};
}

// Weights come before the kernel that makes x is done, for the first stages.
DEVICE void bring_tile(u32 memory, u32 barriers, const TensorMap* x, const TensorMap* weight, const TensorMap* y,
                       const TilePlace& p) {
  Ring ring(barriers, STAGES);
  for (int i = 0; i < EARLY; i++) {
    barrier_expect(barriers + FULL + i * 8, STAGE_BYTES);
    load_box(memory + i * STAGE_BYTES + ROWS_BYTES, weight, i * STEP, p.column, barriers + FULL + i * 8);
  }
  kernel_before_is_done();
  for (int i = 0; i < NUM_STEPS; i++, ring.next()) {
    u32 at = memory + ring.stage * STAGE_BYTES, full = ring.full();
    if (i >= EARLY) {
      ring.wait_empty();
      barrier_expect(full, STAGE_BYTES);
      load_box(at + ROWS_BYTES, weight, i * STEP, p.column, full);
    }
    load_box(at, x, i * STEP, p.row, full);
    if (RESIDUAL && i == STAGES - 1) {
      barrier_expect(barriers + RESIDUAL_FULL, 2 * GROUP_BYTES);
      for (int box = 0; box < 2 * GROUP_BYTES / BOX_BYTES; box++) {
        int group = box / (TILE_N / BOX_COLUMNS), column = box % (TILE_N / BOX_COLUMNS) * BOX_COLUMNS;
        u32 to = memory + TILE_AT + box * BOX_BYTES;
        load_box(to, y, p.column + column, p.row + group * 64, barriers + RESIDUAL_FULL);
      }
    }
  }
}

struct Given { int turn, line; };  // of a row: its turn, -1 for none, and its line among those of the turn

DEVICE Given given_to(int row, const Arguments& a) {
  int group = row / a.repeat, branch = group >= a.num_entries;
  int turn = row < a.num_rows ? a.turns[1 + 2 * a.num_entries + group - branch * a.num_entries] : -1;
  return {turn, branch * BRANCH_LINES + row - group * a.repeat};
}

DEVICE u32 sum_of(u32 y, u32 added, float alpha) {
  return pack(low_of(y) + alpha * low_of(added), high_of(y) + alpha * high_of(added));
}

// To 16 rows of a warp, of which lane i knows row i % 16. A lane adds to 8 columns of a row. Those of even
// number lie before those of odd number in 128 of `added`.
DEVICE void add_given(const Given& mine, u32 rows, int column, const Arguments& a) {
  constexpr int LANES = TILE_N / 8, AT_ONCE = 32 / LANES, ROUNDS = 16 / AT_ONCE;
  int part = lane_of() % LANES, first = lane_of() / LANES, own = column + part * 8;
  uint2 even[ROUNDS], odd[ROUNDS];
  u32 has = __ballot_sync(~0u, mine.turn >= 0);
  int place = (mine.turn < 0 ? 0 : mine.turn) * LINES + mine.line;
  const u16* from = a.added + own / 128 * 128 + own % 128 / 2;
#pragma unroll
  for (int i = 0; i < ROUNDS; i++) {  // of rows without a turn too, which nobody uses
    const u16* line = from + (long long)__shfl_sync(~0u, place, i * AT_ONCE + first) * N;
    even[i] = __ldcg((const uint2*)line);
    odd[i] = __ldcg((const uint2*)(line + 64));
  }
#pragma unroll
  for (int i = 0; i < ROUNDS; i++) {
    int row = i * AT_ONCE + first;
    u32 at = rows + part / 8 * BOX_BYTES + row * 128 + ((part % 8 ^ (row & 7)) << 4);
    uint4 y = load_shared(at);
    uint2 e = even[i], o = odd[i];
    y.x = sum_of(y.x, __byte_perm(e.x, o.x, 0x5410), a.alpha);
    y.y = sum_of(y.y, __byte_perm(e.x, o.x, 0x7632), a.alpha);
    y.z = sum_of(y.z, __byte_perm(e.y, o.y, 0x5410), a.alpha);
    y.w = sum_of(y.w, __byte_perm(e.y, o.y, 0x7632), a.alpha);
    if (has >> row & 1) store_shared(at, y);
  }
}

// A stage is free when the product after the one that reads it is under way: then that one is done.
DEVICE void multiply_tile(float (&sums)[TILE_N / 2], u32 memory, u32 barriers) {
  Ring ring(barriers, STAGES);
  u32 before = 0;
#pragma unroll
  for (int i = 0; i < TILE_N / 2; i++) sums[i] = 0.f;
  for (int i = 0; i < NUM_STEPS; i++, ring.next()) {
    ring.wait_full();
    u32 at = memory + ring.stage * STAGE_BYTES;
    u64 rows = operand_of_64(at + group_of() * (ROWS_BYTES / 2)), weights = operand_of_64(at + ROWS_BYTES);
    products_begin();
#pragma unroll
    for (int k = 0; k < STEP / 16; k++) product_of_tile(sums, rows + k * 2, weights + k * 2);
    products_commit();
    products_wait<1>();
    if (i > 0 && first_of_group()) barrier_arrive(before);
    before = ring.empty();
  }
}

DEVICE void send_box(const TensorMap* y, int row, int column, u32 tile, int box) {
  store_box(y, column + box * BOX_COLUMNS, row, tile + box * BOX_BYTES);
  stores_commit();
}

// 16 columns of 16 rows, rounded as the matrix library rounds them.
DEVICE void place_sums(const float* sums, u32 at, float alpha) {
  u32 made[4];
  if (RESIDUAL) load_matrices(made, at);
#pragma unroll
  for (int i = 0; i < 4; i++) {
    float low = sums[2 * i], high = sums[2 * i + 1];
    made[i] = RESIDUAL ? pack(fmaf(alpha, low, low_of(made[i])), fmaf(alpha, high, high_of(made[i]))) : pack(low, high);
  }
  store_matrices(at, made[0], made[1], made[2], made[3]);
}

DEVICE void make_tile(u32 memory, u32 barriers, const TensorMap* y, const TilePlace& p, const Arguments& a) {
  int group = group_of(), row = p.row + group * 64;
  Given given = given_to(row + warp_of() * 16 + lane_of() % 16, a);
  kernel_before_is_done();
  float sums[TILE_N / 2];
  multiply_tile(sums, memory, barriers);
  // Who needs nothing waits for nobody. What one thread has seen to be there, all find there behind the barrier.
  if (given.turn >= 0)
    while (load_acquire(signal_of(a, given.turn, p.column / 256 % 2)) == 0) {}
  if (RESIDUAL) barrier_wait(barriers + RESIDUAL_FULL, 0);
  products_wait<0>();
  bool adds = any_at_barrier(BOTH_GROUPS, 2 * GROUP_THREADS, given.turn >= 0);  // both groups have read the ring
  u32 tile = memory + TILE_AT + group * GROUP_BYTES;
  int matrix = lane_of() / 8, line = warp_of() * 16 + matrix % 2 * 8 + lane_of() % 8;
#pragma unroll
  for (int j = 0; j < TILE_N / 8; j += 2) {
    u32 at = tile + j / 8 * BOX_BYTES + line * 128 + (((j % 8 + matrix / 2) ^ (line & 7)) << 4);
    place_sums(sums + 4 * j, at, a.alpha);
    if (j % 8 == 6 && !adds) {
      shared_fence();
      named_barrier(GROUP + group, GROUP_THREADS);
      if (first_of_group()) send_box(y, row, p.column, tile, j / 8);
    }
  }
  if (adds) {
    __syncwarp();
    add_given(given, tile + warp_of() * 16 * 128, p.column, a);
    shared_fence();
    named_barrier(GROUP + group, GROUP_THREADS);
    if (first_of_group())
      for (int box = 0; box < TILE_N / BOX_COLUMNS; box++) send_box(y, row, p.column, tile, box);
  }
  if (first_of_group()) stores_have_read();
}
