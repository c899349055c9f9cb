// down x, of 512 elements of K of a row at a time; a program takes every num_side-th such item.

constexpr int RANKS = PARTS * RANK, DOWN_BOX = RANKS * 128, WARPS = MAKERS / 32;
constexpr int ITEM = WARPS * 64, SPLITS = K / ITEM;  // a warp has a box of 64 elements of K
constexpr int PLACE = WARPS * RANKS, PARTIAL_AT = SIDE_STAGES * DOWN_BOX, SIDE_END = PARTIAL_AT + PLACES * PLACE * 4;
static_assert(K % ITEM == 0 && SIDE_STAGES % WARPS == 0 && SIDE_STAGES <= 32 && DOWN_BOX % 1024 == 0, "items");
static_assert(ROWS * SPLITS * RANKS <= HIDDEN && HIDDEN % 4 == 0, "hidden");

DEVICE void bring_items(u32 memory, u32 barriers, const TensorMap* down, const Arguments& a) {
  Ring ring(barriers, SIDE_STAGES);
  int items = a.turns[0] * SPLITS;
  for (int item = blockIdx.x; item < items; item += a.num_side) {
    int slot = a.turns[1 + a.num_rows + item / SPLITS];
    for (int box = 0; box < WARPS; box++, ring.next()) {
      ring.wait_empty();
      barrier_expect(ring.full(), DOWN_BOX);
      load_box(memory + ring.stage * DOWN_BOX, down, item % SPLITS * ITEM + box * 64, 0, slot, ring.full());
    }
  }
}

// The eight elements that a thread has of a row.
DEVICE uint4 elements_of(const Arguments& a, int entry, int item) {
  return __ldcg((const uint4*)(a.x + entry * K + item % SPLITS * ITEM + threadIdx.x / 32 * 64 + lane_of() % 8 * 8));
}

DEVICE float product_of(const uint4& m, const float (&x)[8]) {
  float sum = low_of(m.x) * x[0];
  sum = fmaf(high_of(m.x), x[1], sum);
  sum = fmaf(low_of(m.y), x[2], sum), sum = fmaf(high_of(m.y), x[3], sum);
  sum = fmaf(low_of(m.z), x[4], sum), sum = fmaf(high_of(m.z), x[5], sum);
  return fmaf(high_of(m.w), x[7], fmaf(low_of(m.w), x[6], sum));
}

// Eight lanes in a row add up their sums. Each is left with an eighth of them; it returns the number of the first.
template <int HALF, int APART> DEVICE int add_up(float (&sums)[RANKS / 4]) {
  bool upper = (lane_of() & APART) != 0;
#pragma unroll
  for (int i = 0; i < HALF; i++) {
    float give = upper ? sums[i] : sums[i + HALF], keep = upper ? sums[i + HALF] : sums[i];
    sums[i] = keep + __shfl_xor_sync(~0u, give, APART);
  }
  int first = upper ? HALF : 0;
  if constexpr (APART > 1) first += add_up<HALF / 2, APART / 2>(sums);
  return first;
}

// Eight lanes have a rank's 64 elements of a box, four ranks at once.
DEVICE void make_items(u8* memory, u32 barriers, const Arguments& a) {
  int items = a.turns[0] * SPLITS, warp = threadIdx.x / 32, lane = lane_of(), eighth = lane % 8, line = lane / 8;
  auto entry_of = [&](int item) { return item < items ? a.turns[1 + item / SPLITS] : 0; };
  int entry = entry_of(blockIdx.x);
  kernel_before_is_done();
  uint4 next = elements_of(a, entry, blockIdx.x);
  entry = entry_of(blockIdx.x + a.num_side);
  for (int i = blockIdx.x * MAKERS + threadIdx.x; i < HIDDEN / 4; i += a.num_side * MAKERS)
    __stcg((uint4*)hidden_of(a, false) + i, uint4{});
  Ring ring(barriers, SIDE_STAGES);
  ring.next(warp);
  for (int item = blockIdx.x, number = 0; item < items; item += a.num_side, number++, ring.next(WARPS)) {
    float values[8] = {low_of(next.x), high_of(next.x), low_of(next.y), high_of(next.y),
                       low_of(next.z), high_of(next.z), low_of(next.w), high_of(next.w)};
    next = elements_of(a, entry, item + a.num_side);
    entry = entry_of(item + 2 * a.num_side);
    ring.wait_full();
    const u8* box = memory + ring.stage * DOWN_BOX;
    float sums[RANKS / 4];
#pragma unroll
    for (int i = 0; i < RANKS / 4; i++) {
      int rank = i * 4 + line;
      sums[i] = product_of(*(const uint4*)(box + rank * 128 + ((eighth ^ (rank & 7)) << 4)), values);
    }
    __syncwarp();
    if (lane == 0) barrier_arrive(ring.empty());
    int first = add_up<RANKS / 8, 4>(sums);
    if (number >= PLACES) named_barrier(TAKEN + number % PLACES, MAKERS + 32);
    float* partial = (float*)(memory + PARTIAL_AT) + number % PLACES * PLACE + warp * RANKS;
#pragma unroll
    for (int i = 0; i < RANKS / 32; i++) partial[(first + i) * 4 + line] = sums[i];
    named_barrier_arrive(GIVEN + number % PLACES, MAKERS + 32);
  }
}

// Adds up what warps made of an item. By a warp of its own, while the others go on. A sum of 0 is written as -0, since
// 0 says that nothing is there yet.
DEVICE void give_items(u8* memory, const Arguments& a) {
  kernel_before_is_done();
  u32* hidden = hidden_of(a);
  int items = a.turns[0] * SPLITS;
  for (int item = blockIdx.x, number = 0; item < items; item += a.num_side, number++) {
    named_barrier(GIVEN + number % PLACES, MAKERS + 32);
    const float* partial = (float*)(memory + PARTIAL_AT) + number % PLACES * PLACE + lane_of();
    float sums[PARTS] = {};
#pragma unroll
    for (int i = 0; i < WARPS * PARTS; i++) sums[i % PARTS] += partial[i * RANK];
    if (item + PLACES * a.num_side < items) named_barrier_arrive(TAKEN + number % PLACES, MAKERS + 32);
#pragma unroll
    for (int i = 0; i < PARTS; i++) {
      u32 bits = __float_as_uint(sums[i]);
      __stcg(hidden + item * RANKS + i * RANK + lane_of(), bits == 0 ? 1u << 31 : bits);
    }
  }
}
