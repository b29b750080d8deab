// Votes of work-groups, for the check of races: the compiler's own, and those that a program makes by itself.
// The compiler stores equal values by several threads on purpose (vsim/checks/votes.py); a program must not.

// FOUND
kernel void beside_local_memory(global int *out, global const int *in) {
  local int seen[64];
  int x = in[get_global_id(0)];
  seen[get_local_id(0)] = x;
  barrier(CLK_LOCAL_MEM_FENCE);
  int other = seen[63 - get_local_id(0)];
  out[get_global_id(0)] = (work_group_any(x > 3) ? other : x) + 2 * work_group_all(x > 1);
}

int any_above(int x) { return work_group_any(x); }

// FOUND
kernel void in_a_function(global int *out, global const int *in) {
  int x = in[get_global_id(0)];
  for (int i = 0; i < 3; i++) x += any_above(x > i);
  out[get_global_id(0)] = x;
}

#define BY_HAND(x)                      \
  local int flag;                       \
  barrier(CLK_LOCAL_MEM_FENCE);         \
  flag = 0;                             \
  barrier(CLK_LOCAL_MEM_FENCE);         \
  if (x > 3) flag = 1;                  \
  barrier(CLK_LOCAL_MEM_FENCE);

// FOUND K001
kernel void by_hand(global int *out, global const int *in) {
  int x = in[get_global_id(0)];
  BY_HAND(x)
  out[get_global_id(0)] = flag;
}

// FOUND K001
kernel void by_hand_beside_a_sub_group(global int *out, global const int *in) {
  int x = in[get_global_id(0)];
  BY_HAND(x)
  out[get_global_id(0)] = flag + sub_group_any(x > 1);
}

// FOUND K001
kernel void beside_an_own_flag(global int *out, global const int *in) {
  local int flag;
  int x = in[get_global_id(0)];
  if (get_local_id(0) == 0) flag = 0;
  barrier(CLK_LOCAL_MEM_FENCE);
  if (x > 3) flag = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = flag + work_group_all(x > 1);
}
