// Tiles of all rows and TILE_N outputs, 128 elements of K in a step.

constexpr int STEP = 128, NUM_STEPS = K / STEP, ROWS_BOX = ROWS * 128, WEIGHT_BOX = TILE_N * 128;
constexpr int WEIGHTS_AT = 2 * ROWS_BOX, STAGE_BYTES = 2 * (ROWS_BOX + WEIGHT_BOX);
constexpr int UP_AT = STAGES * STAGE_BYTES, UP_BYTES = TILE_N * RANK * 2;
constexpr int SUMS_AT = UP_AT + MAX_SLOTS * UP_BYTES, HIDDEN_AT = SUMS_AT + MAKERS * TILE_N / 4 * 4;
constexpr int AT_ONCE = 8;  // slots
constexpr int PAUSE = 400;  // ns
constexpr int LINE_BYTES = RANK * 2 + 16, TILE_END = HIDDEN_AT + ROWS * LINE_BYTES;  // lines that share no banks
static_assert(K % (2 * STEP) == 0 && STAGES <= 32 && STAGES <= NUM_STEPS, "steps");
static_assert(STAGES % 2 == 0, "a stage belongs to one group, or the other one would not see that it was filled twice");
static_assert(N % TILE_N == 0 && FIRST % TILE_N == 0 && OTHER % TILE_N == 0, "a tile belongs to one part");

struct Slots { int count, slot[MAX_SLOTS]; };  // each once, in the order of turns

DEVICE int part_of(int column) { return PARTS == 1 || column < FIRST ? 0 : 1 + (column - FIRST) / OTHER; }

// By a warp.
DEVICE void find_slots(Slots& found, const Arguments& a) {
  const int* slots = a.turns + 1 + a.num_rows;
  int count = a.turns[0], number = 0;
  for (int turn = lane_of(); turn < ROWS; turn += 32) {
    int slot = turn < count ? slots[turn] : -1, before = turn > 0 && turn < count ? slots[turn - 1] : -1;
    u32 leads = __ballot_sync(~0u, slot != before);
    if (slot != before) found.slot[number + __popc(leads & ((1u << lane_of()) - 1))] = slot;
    number += __popc(leads);
  }
  found.count = number;
  __syncwarp();
}

DEVICE void bring_weights(u32 at, const TensorMap* weight, int step, int column, u32 full) {
  barrier_expect(full, STAGE_BYTES);
  for (int i = 0; i < 2; i++) load_box(at + WEIGHTS_AT + i * WEIGHT_BOX, weight, step * STEP + i * 64, column, full);
}

DEVICE void bring_tile(u32 memory, u32 barriers, const TensorMap* x, const TensorMap* weight, const TensorMap* up,
                       Slots& slots, int column, const Arguments& a) {
  bool brings = lane_of() == 0;
  for (int i = 0; brings && i < STAGES; i++)
    bring_weights(memory + i * STAGE_BYTES, weight, i, column, barriers + FULL + i * 8);
  find_slots(slots, a);
  if (brings) barrier_expect(barriers + UP_THERE, slots.count * UP_BYTES);
  for (int i = 0; brings && i < slots.count; i++)
    load_box(memory + UP_AT + i * UP_BYTES, up, 0, column, slots.slot[i], barriers + UP_THERE);
  kernel_before_is_done();
  Ring ring(barriers, STAGES);
  for (int i = 0; brings && i < NUM_STEPS; i++, ring.next()) {
    u32 at = memory + ring.stage * STAGE_BYTES;
    if (i >= STAGES) {
      ring.wait_empty();
      bring_weights(at, weight, i, column, ring.full());
    }
    for (int j = 0; j < 2; j++) load_box(at + j * ROWS_BOX, x, i * STEP + j * 64, 0, ring.full());
  }
}

// Eight ranks of two turns, -1 for none. Returns whether `down` has made all of them.
DEVICE bool add_up_parts(float (&sums)[2][8], const u32* hidden, const int (&turn)[2]) {
  bool there = true;
#pragma unroll
  for (int i = 0; i < 16; i++) sums[i / 8][i % 8] = 0.f;
#pragma unroll
  for (int i = 0; i < 4 * SPLITS; i++) {
    int split = i / 4, which = i / 2 % 2, four = i % 2 * 4;
    if (turn[which] < 0) continue;
    uint4 bits = load_volatile(hidden + (turn[which] * SPLITS + split) * RANKS + four);
    there &= bits.x != 0 && bits.y != 0 && bits.z != 0 && bits.w != 0;
    float* to = sums[which] + four;
    to[0] += __uint_as_float(bits.x), to[1] += __uint_as_float(bits.y);
    to[2] += __uint_as_float(bits.z), to[3] += __uint_as_float(bits.w);
  }
  return there;
}

// To shared memory, a line for each row; zeros for those without an adapter. Four threads have rows r and r + 32, eight
// ranks each.
DEVICE void read_hidden(u8* shared, u32 barriers, int part, const Arguments& a) {
  int row = threadIdx.x % GROUP_THREADS / 4, rank = threadIdx.x % 4 * 8;
  const int* turns = a.turns + 1 + 2 * a.num_rows;
  int turn[2] = {row < a.num_rows ? turns[row] : -1, row + 32 < a.num_rows ? turns[row + 32] : -1};
  kernel_before_is_done();
  const u32* hidden = hidden_of(a) + part * RANK + rank;
  float sums[2][8];
  while (!add_up_parts(sums, hidden, turn)) __nanosleep(PAUSE);
#pragma unroll
  for (int i = 0; i < 2; i++) {
    uint4 made = {pack(sums[i][0], sums[i][1]), pack(sums[i][2], sums[i][3]), pack(sums[i][4], sums[i][5]),
                  pack(sums[i][6], sums[i][7])};
    *(uint4*)(shared + HIDDEN_AT + (row + i * 32) * LINE_BYTES + rank * 2) = made;
  }
  __syncwarp();
  if (lane_of() == 0) barrier_arrive(barriers + HIDDEN_THERE);
}

// A stage is free when the product after the one that reads it is under way: then that one is done.
DEVICE void multiply_steps(float (&sums)[TILE_N / 2], u32 memory, Ring& ring) {
  u32 before = 0;
  for (int i = 0; i < NUM_STEPS / 2; i++, ring.next(2)) {
    ring.wait_full();
    u32 at = memory + ring.stage * STAGE_BYTES;
    products_begin();
#pragma unroll
    for (int j = 0; j < 2; j++) {
      u64 rows = operand_of_64(at + j * ROWS_BOX), weights = operand_of_64(at + WEIGHTS_AT + j * WEIGHT_BOX);
#pragma unroll
      for (int k = 0; k < 4; k++) product_of_tile(sums, rows + k * 2, weights + k * 2);
    }
    products_commit();
    products_wait<1>();
    if (before != 0 && first_of_group()) barrier_arrive(before);
    before = ring.empty();
  }
  products_wait<0>();
}

DEVICE void store_pair(const Arguments& a, int row, int column, float low, float high) {
  if (row >= a.num_rows) return;
  if (FLOATS) __stcg((float2*)((float*)a.y + row * N + column), float2{low, high});
  else __stcg((u32*)((u16*)a.y + row * N + column), pack(low, high));
}

// Slots, some at a time, the groups in turn. Rows of others are zeros there, and slots hold finite numbers alone.
DEVICE void multiply_slots(float (&sums)[TILE_N / 2], u32 memory, const Slots& slots, const int (&of_rows)[2]) {
  int lane = lane_of(), group = __shfl_sync(~0u, group_of(), 0), count = __shfl_sync(~0u, slots.count, 0);
  u32 line = memory + HIDDEN_AT + (warp_of() * 16 + lane % 16) * LINE_BYTES + lane / 16 * 16, low[4], high[4];
  load_matrices(low, line);
  load_matrices(high, line + 32);
  for (int first = group * AT_ONCE; first < count; first += 2 * AT_ONCE) {
    u32 own[AT_ONCE][8];
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      int slot = first + i < count ? slots.slot[first + i] : -2;
#pragma unroll
      for (int k = 0; k < 4; k++) {
        bool its = of_rows[k % 2] == slot;
        own[i][k] = its ? low[k] : 0, own[i][4 + k] = its ? high[k] : 0;
      }
    }
    products_begin();
#pragma unroll
    for (int i = 0; i < AT_ONCE; i++) {
      u64 up = operand_of_32(memory + UP_AT + min(first + i, count - 1) * UP_BYTES);
      product_of_slot(sums, own[i][0], own[i][1], own[i][2], own[i][3], up);
      product_of_slot(sums, own[i][4], own[i][5], own[i][6], own[i][7], up + 2);
    }
    products_commit();
    products_wait<0>();
  }
}

// The sums of both groups, of which either adds up half of the outputs.
DEVICE void store_sums(const float (&sums)[TILE_N / 2], u8* shared, int row, int column, const Arguments& a) {
  constexpr int HALF = TILE_N / 4, EIGHTHS = HALF / 4;
  float4* given = (float4*)(shared + SUMS_AT) + threadIdx.x % GROUP_THREADS;
  bool first = group_of() == 0;
  float kept[HALF];
#pragma unroll
  for (int i = 0; i < EIGHTHS; i++) {
    const float *low = sums + i * 4, *high = low + HALF;
    given[(group_of() * EIGHTHS + i) * GROUP_THREADS] =
        first ? float4{high[0], high[1], high[2], high[3]} : float4{low[0], low[1], low[2], low[3]};
#pragma unroll
    for (int j = 0; j < 4; j++) kept[i * 4 + j] = first ? low[j] : high[j];
  }
  named_barrier(BOTH_GROUPS, MAKERS);
#pragma unroll
  for (int i = 0; i < EIGHTHS; i++) {
    float4 more = given[((1 - group_of()) * EIGHTHS + i) * GROUP_THREADS];
    int to = column + group_of() * (TILE_N / 2) + i * 8 + lane_of() % 4 * 2;
    store_pair(a, row, to, kept[i * 4] + more.x, kept[i * 4 + 1] + more.y);
    store_pair(a, row + 8, to, kept[i * 4 + 2] + more.z, kept[i * 4 + 3] + more.w);
  }
}

DEVICE void make_tile(u8* shared, u32 memory, u32 barriers, const Slots& slots, int column, const Arguments& a) {
  int row = warp_of() * 16 + lane_of() / 4, count = a.turns[0], of_rows[2];
#pragma unroll
  for (int i = 0; i < 2; i++)
    of_rows[i] = row + i * 8 < a.num_rows ? a.turns[1 + 3 * a.num_rows + row + i * 8] : -1;
  kernel_before_is_done();
  Ring ring(barriers, STAGES);
  ring.next(group_of());
  float sums[TILE_N / 2] = {};
  multiply_steps(sums, memory, ring);
  if (count > 0) {
    barrier_wait(barriers + UP_THERE, 0);
    barrier_wait(barriers + HIDDEN_THERE, 0);
    multiply_slots(sums, memory, slots, of_rows);
  }
  store_sums(sums, shared, row, column, a);
}
