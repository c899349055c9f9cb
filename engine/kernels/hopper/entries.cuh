// down x of whole entries, 11 rows in each of two branches with VoxCPM2; a program takes every num_side-th turn.
//
// Lines are the rows of an entry, those of one branch behind those of the other. Products are of 64 of them; the last
// are anything: what they make goes nowhere.

constexpr int RANKS = PARTS * RANK, DOWN_BOX = RANKS * 128, LINES_BOX = LINES * 128;
constexpr int CHUNKS = PARTS == 1 ? 4 : 2;  // of 64 elements of K in a stage
constexpr int DOWN_STAGES = K / (64 * CHUNKS), LINES_AT = CHUNKS * DOWN_BOX;
constexpr int SIDE_BYTES = CHUNKS * (DOWN_BOX + LINES_BOX), SIDE_END = SIDE_STAGES * SIDE_BYTES + LINES_BOX;
enum { GIVEN = 1, TOLD = 2, TELLING_THREADS = GROUP_THREADS + 32 };  // numbers of barriers of warps
static_assert(K % (64 * CHUNKS) == 0 && DOWN_BOX % 1024 == 0, "shape");

// `down` of the first turn comes before the kernel that makes x is done.
DEVICE void bring_entries(u32 memory, u32 barriers, const TensorMap* entries, const TensorMap* down,
                          const Arguments& a, int program) {
  constexpr int EARLY_STAGES = SIDE_STAGES < DOWN_STAGES ? SIDE_STAGES : DOWN_STAGES;
  Ring ring(barriers, SIDE_STAGES);
  int count = a.turns[0], known = program < count ? program : 0;
  int entry = a.turns[1 + known], slot = a.turns[1 + a.num_entries + known];
  auto bring_down = [&](u32 to, u32 full, int stage) {
    barrier_expect(full, CHUNKS * (DOWN_BOX + 2 * a.repeat * 128));
    for (int i = 0; i < CHUNKS; i++) load_box(to + i * DOWN_BOX, down, (stage * CHUNKS + i) * 64, 0, slot, full);
  };
  if (program < count)
    for (int i = 0; i < EARLY_STAGES; i++) bring_down(memory + i * SIDE_BYTES, barriers + FULL + i * 8, i);
  kernel_before_is_done();
  for (int turn = program; turn < count; turn += a.num_side) {
    int next = turn + a.num_side < count ? turn + a.num_side : turn;
    int next_entry = a.turns[1 + next], next_slot = a.turns[1 + a.num_entries + next];
    for (int i = 0; i < DOWN_STAGES; i++, ring.next()) {
      u32 at = memory + ring.stage * SIDE_BYTES, full = ring.full();
      if (turn != program || i >= EARLY_STAGES) {
        ring.wait_empty();
        bring_down(at, full, i);
      }
      for (int j = 0; j < CHUNKS; j++)
        load_box(at + LINES_AT + j * LINES_BOX, entries, (i * CHUNKS + j) * 64, entry * a.repeat, 0, full);
    }
    entry = next_entry, slot = next_slot;
  }
}

// Of 64 lines, RANKS each. A stage is free when the products of the next one are under way.
DEVICE void multiply_entry(float (&sums)[RANKS / 2], u32 memory, Ring& ring) {
  u32 before = 0;
#pragma unroll
  for (int i = 0; i < RANKS / 2; i++) sums[i] = 0.f;
  for (int i = 0; i < DOWN_STAGES; i++, ring.next()) {
    ring.wait_full();
    u32 at = memory + ring.stage * SIDE_BYTES;
    products_begin();
#pragma unroll
    for (int j = 0; j < CHUNKS; j++) {
      u64 lines = operand_of_64(at + LINES_AT + j * LINES_BOX), down = operand_of_64(at + j * DOWN_BOX);
#pragma unroll
      for (int k = 0; k < 4; k++) product_of_entry(sums, lines + k * 2, down + k * 2);
    }
    products_commit();
    products_wait<1>();
    if (i > 0 && first_of_group()) barrier_arrive(before);
    before = ring.empty();
  }
  products_wait<0>();
  if (first_of_group()) barrier_arrive(before);
}

// To hidden, rounded. The first two warps have the lines.
DEVICE void give_entry(const float (&sums)[RANKS / 2], const Arguments& a, int turn) {
  int line = warp_of() * 16 + lane_of() / 4;
  if (warp_of() < LINES / 16) {
#pragma unroll
    for (int j = 0; j < RANKS / 8; j++)
#pragma unroll
      for (int half = 0; half < 2; half++)
        *hidden_of(a, turn, j * 8 / RANK, line + half * 8, j * 8 % RANK + lane_of() % 4 * 2) =
            pack(sums[j * 4 + half * 2], sums[j * 4 + half * 2 + 1]);
  }
}

DEVICE void make_entries(u32 memory, u32 barriers, const Arguments& a, int program) {
  kernel_before_is_done();
  Ring ring(barriers, SIDE_STAGES);
  for (int turn = program; turn < a.turns[0]; turn += a.num_side) {
    float sums[RANKS / 2];
    multiply_entry(sums, memory, ring);
    if (turn != program) named_barrier(TOLD, TELLING_THREADS);
    give_entry(sums, a, turn);
    named_barrier_arrive(GIVEN, TELLING_THREADS);
  }
}

// By a warp of the other group, since it takes long, and the next turn need not wait for it.
DEVICE void tell_of_entries(const Arguments& a, int program) {
  for (int turn = program; turn < a.turns[0]; turn += a.num_side) {
    named_barrier(GIVEN, TELLING_THREADS);
    if (lane_of() == 0) store_release(signal_of(a, turn), 1);
    if (turn + a.num_side < a.turns[0]) named_barrier_arrive(TOLD, TELLING_THREADS);
  }
}
