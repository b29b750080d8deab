// Two programs with equal texts, of which one waits; the older compiler makes waits.zebin.xz and hurries.zebin.xz of them:
//
//     ocloc compile -file lanes.cl -device tgllp --format zebin -options "-cl-std=CL2.0 -DWAIT=WORDS" \
//         -internal_options "-cl-intel-emit-zebin-visa-sections" -output_no_suffix -output lanes
//
// WORDS are sub_group_barrier(CLK_GLOBAL_MEM_FENCE) or (void)0.
#pragma OPENCL EXTENSION cl_khr_subgroups : enable

// Lanes go along links, and add what other lanes have stored in the same round.
kernel void exchange(global const int* rounds, global const int* links, global int* places, global int* sums) {
  int i = get_global_id(0), left = rounds[i], at = links[i], sum = 0;
  while (left) {
    places[at] = sum + at;
    WAIT;
    at = links[at];
    sum += places[at];
    WAIT;
    left = left - 1;
  }
  sums[i] = sum;
}
