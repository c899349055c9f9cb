// up (down x) of whole entries, 11 rows in each of two branches with VoxCPM2; a program takes every num_side-th turn.
//
// Products are of outputs by rows, since few rows are then few columns: down [ranks, K] by x, 64 ranks a group,
// and up [outputs, 32] by what that made, 64 outputs at a time. Rows of a branch stand on 16 lines, of which the
// last are anything: what they make goes nowhere.

constexpr int SIDE_STAGES = 4, SIDE_BYTES = 32768;
constexpr int RANKS = PARTS * RANK, DOWN_BOX = RANKS * 128, ENTRY_BOX = BRANCH_LINES * 128;
constexpr int DOWN_BOXES = PARTS == 3 ? 2 : 4, ENTRIES_AT = DOWN_BOXES * DOWN_BOX;  // of 64 elements of K in a stage
constexpr int DOWN_STAGES = K / (64 * DOWN_BOXES);
// A row of a box of `up` is two outputs, of 32 elements each.
constexpr int UP_OUTPUTS = 256, UP_BOX = UP_OUTPUTS * RANK * 2, UP_STAGES = N / (2 * UP_OUTPUTS);
constexpr int HIDDEN_AT = SIDE_STAGES * SIDE_BYTES, HIDDEN_BYTES = LINES * RANK * 2;
constexpr int MADE_BOX = BRANCH_LINES * 128, MADE_BYTES = 8 * MADE_BOX;
constexpr int MADE_AT = (HIDDEN_AT + PARTS * HIDDEN_BYTES + 1023) / 1024 * 1024, SIDE_END = MADE_AT + 4 * MADE_BYTES;
static_assert(ENTRIES_AT + 2 * DOWN_BOXES * ENTRY_BOX <= SIDE_BYTES && 2 * UP_BOX == SIDE_BYTES, "stages");
static_assert(PARTS == 1 || PARTS == 3, "a group has 64 ranks, or all of 32");
static_assert(K % (64 * DOWN_BOXES) == 0 && DOWN_STAGES >= SIDE_STAGES && N % (2 * UP_OUTPUTS) == 0, "shape");
static_assert(FIRST % UP_OUTPUTS == 0 && OTHER % UP_OUTPUTS == 0, "a box belongs to one part");

DEVICE void bring_down(u32 to, u32 full, const TensorMap* down, int stage, int slot, int repeat) {
  barrier_expect(full, DOWN_BOXES * (DOWN_BOX + 2 * repeat * 128));
  for (int i = 0; i < DOWN_BOXES; i++) load_box(to + i * DOWN_BOX, down, (stage * DOWN_BOXES + i) * 64, 0, slot, full);
}

DEVICE void bring_rows(u32 to, u32 full, const TensorMap* entries, int stage, int row, int between) {
  for (int i = 0; i < DOWN_BOXES; i++) {
    u32 at = to + ENTRIES_AT + i * 2 * ENTRY_BOX;
    load_box(at, entries, (stage * DOWN_BOXES + i) * 64, row, full);
    load_box(at + ENTRY_BOX, entries, (stage * DOWN_BOXES + i) * 64, between + row, full);
  }
}

// `down` of the first turn comes before the kernel that makes x is done.
DEVICE void bring_entries(u32 memory, u32 barriers, const TensorMap* entries, const TensorMap* down,
                          const TensorMap* up, const Arguments& a, int program) {
  Ring ring(barriers, SIDE_STAGES);
  int count = a.turns[0], between = a.num_entries * a.repeat, known = program < a.num_entries ? program : 0;
  int entry = a.turns[1 + known], slot = a.turns[1 + a.num_entries + known];
  if (program < count)
    for (int i = 0; i < SIDE_STAGES; i++)
      bring_down(memory + i * SIDE_BYTES, barriers + FULL + i * 8, down, i, slot, a.repeat);
  kernel_before_is_done();
  for (int turn = program; turn < count; turn += a.num_side) {
    int row = entry * a.repeat, its = slot;
    if (turn + a.num_side < count) {
      entry = a.turns[1 + turn + a.num_side];
      slot = a.turns[1 + a.num_entries + turn + a.num_side];
    }
    for (int i = 0; i < DOWN_STAGES; i++, ring.next()) {
      u32 at = memory + ring.stage * SIDE_BYTES;
      if (turn != program || i >= SIDE_STAGES) {
        ring.wait_empty();
        bring_down(at, ring.full(), down, i, its, a.repeat);
      }
      bring_rows(at, ring.full(), entries, i, row, between);
    }
    for (int i = 0; i < UP_STAGES; i++, ring.next()) {
      u32 at = memory + ring.stage * SIDE_BYTES;
      ring.wait_empty();
      barrier_expect(ring.full(), 2 * UP_BOX);
      for (int j = 0; j < 2; j++)
        load_box(at + j * UP_BOX, up, 0, (i * 2 + j) * (UP_OUTPUTS / 2), its, ring.full());
    }
  }
}

DEVICE void shrink_stage(float (&sums)[16], u32 at, int first_rank) {
  products_begin();
#pragma unroll
  for (int box = 0; box < DOWN_BOXES; box++) {
    u64 down = operand_of_64(at + box * DOWN_BOX + first_rank * 128);
    u64 rows = operand_of_64(at + ENTRIES_AT + box * 2 * ENTRY_BOX);
#pragma unroll
    for (int k = 0; k < 4; k++) product_of_entry(sums, down + k * 2, rows + k * 2);
  }
  products_commit();
  products_wait<0>();
}

// Where four matrices of what a product of 64 by 32 made go, transposed: `number` of two, 16 lines each.
DEVICE void place_transposed(const float (&sums)[16], int number, u32 address) {
  const float* own = sums + number * 8;
  store_transposed(address, pack(own[0], own[1]), pack(own[2], own[3]), pack(own[4], own[5]), pack(own[6], own[7]));
}

// To [PARTS][LINES][RANK], rounded. Ranks that both groups have are those of the first one.
DEVICE void place_hidden(const float (&sums)[16], u32 hidden, int first_rank) {
  int lane = lane_of(), rank = first_rank + warp_of() * 16 + lane / 8 % 2 * 8;
  bool mine = group_of() == 0 ? PARTS == 3 || warp_of() < 2 : PARTS == 3 && warp_of() >= 2;
  if (mine)
    for (int number = 0; number < 2; number++) {
      int line = number * 16 + lane / 16 * 8 + lane % 8;
      u32 at = hidden + rank / RANK * HIDDEN_BYTES + line * 64;
      place_transposed(sums, number, at + ((rank % RANK / 8 ^ (line >> 1 & 3)) << 4));
    }
  shared_fence();
  named_barrier(BOTH_GROUPS, 2 * GROUP_THREADS);
}

// What `up` of 256 outputs makes, to boxes [64 outputs][branch] and from there to `added`: of every 128 outputs
// first those of even, then those of odd number.
DEVICE void expand_stage(u32 up, u32 hidden, u32 boxes, const TensorMap* added, int output, int turn) {
  float sums[4][16];
  products_begin();
#pragma unroll
  for (int t = 0; t < 4; t++) {
    u64 outputs = operand_of_64(up + t / 2 * (64 * 128)) + t % 2 * 4, rows = operand_of_32(hidden);
    product_of_entry_first(sums[t], outputs, rows);
    product_of_entry(sums[t], outputs + 2, rows + 2);
  }
  products_commit();
  products_wait<0>();
  int lane = lane_of(), chunk = warp_of() * 2 + lane / 8 % 2, line = lane / 16 * 8 + lane % 8;
#pragma unroll
  for (int t = 0; t < 4; t++)
#pragma unroll
    for (int branch = 0; branch < 2; branch++)
      place_transposed(sums[t], branch, boxes + (t * 2 + branch) * MADE_BOX + line * 128 + ((chunk ^ (line & 7)) << 4));
  shared_fence();
  if (first_of_group()) stores_have_read();  // the other boxes, which the next stage fills, are free
  named_barrier(GROUP + group_of(), GROUP_THREADS);
  if (first_of_group()) {
    for (int t = 0; t < 4; t++)
      for (int branch = 0; branch < 2; branch++)
        store_box(added, output + t * 64, turn * LINES + branch * BRANCH_LINES, boxes + (t * 2 + branch) * MADE_BOX);
    stores_commit();
  }
}

DEVICE void announce(const Arguments& a, int turn) {
  stores_are_done();
  store_release(signal_of(a, turn, group_of()), 1);
}

DEVICE void make_entries(u32 memory, u32 barriers, const TensorMap* added, const Arguments& a, int program) {
  int group = group_of(), count = a.turns[0], first_rank = PARTS == 3 ? group * 32 : 0, made = -1;
  kernel_before_is_done();
  Ring ring(barriers, SIDE_STAGES);
  u32 hidden = memory + HIDDEN_AT, boxes = memory + MADE_AT + group * 2 * MADE_BYTES, odd = 0;
  for (int turn = program; turn < count; turn += a.num_side) {
    float sums[16];
#pragma unroll
    for (int i = 0; i < 16; i++) sums[i] = 0.f;
    for (int i = 0; i < DOWN_STAGES; i++, ring.next()) {
      ring.wait_full();
      if (PARTS == 3 || group == 0) shrink_stage(sums, memory + ring.stage * SIDE_BYTES, first_rank);
      if (first_of_group()) {
        barrier_arrive(ring.empty());
        if (i == 2 && made >= 0) announce(a, made);  // its stores have had time
      }
    }
    place_hidden(sums, hidden, first_rank);
    for (int i = 0; i < UP_STAGES; i++, ring.next(), odd ^= 1) {
      int output = (i * 2 + group) * UP_OUTPUTS, part = output < FIRST ? 0 : 1 + (output - FIRST) / OTHER;
      u32 at = memory + ring.stage * SIDE_BYTES + group * UP_BOX;
      ring.wait_full();
      expand_stage(at, hidden + part * HIDDEN_BYTES, boxes + odd * MADE_BYTES, added, output, turn);
      if (first_of_group()) barrier_arrive(ring.empty());
    }
    made = turn;
    if (turn + a.num_side < count) named_barrier(BOTH_GROUPS, 2 * GROUP_THREADS);  // both have read what is hidden
  }
  if (first_of_group() && made >= 0) announce(a, made);
}
