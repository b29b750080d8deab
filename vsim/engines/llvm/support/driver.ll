; The driver of a launch, the loops around a kernel, and the record of a fault (see driver.py).

;; run
; Takes work-groups until there are none: chunks of them, within which ids count up like the digits of a clock. A chunk is a part of the groups that are left, so
; that what one worker touches is together, and workers end together. $several: how many groups of one size that
; follow each other along x run in one call, where there is no local memory to clear.
define void @run(ptr noalias %ctx, ptr %worker) #0 {
entry:
  %count = get i64, %ctx, $GROUP_COUNT
  %nx = get i64, %ctx, $COUNTS
  %ny = get i64, %ctx, $COUNTS_Y
  %nz = get i64, %ctx, $COUNTS_Z
  %px = get i64, %ctx, $PARTIAL
  %py = get i64, %ctx, $PARTIAL_Y
  %pz = get i64, %ctx, $PARTIAL_Z
  %slm_size = get i64, %ctx, $SLM_SIZE
  %variants = get ptr, %ctx, $VARIANTS
  %chunk = get i64, %ctx, $CHUNK
  %share = get i64, %ctx, $SHARE
  %most = get i64, %ctx, $MOST
  %slm = get ptr, %worker, $WORKER_SLM
  %worker_x = getelementptr i8, ptr %worker, i64 $WORKER_GROUP
  %worker_y = getelementptr i8, ptr %worker, i64 $WORKER_GROUP_Y
  %worker_z = getelementptr i8, ptr %worker, i64 $WORKER_GROUP_Z
  %lx = sub i64 %nx, 1
  %ly = sub i64 %ny, 1
  %lz = sub i64 %nz, 1
  %wholex = icmp eq i64 %px, 0
  %row = select i1 %wholex, i64 %nx, i64 %lx
  %noslm = icmp eq i64 %slm_size, 0
  br label %fetch
fetch:
  %g0 = load atomic i64, ptr %ctx monotonic, align 8
  %nothing = icmp uge i64 %g0, %count
  br i1 %nothing, label %done, label %take
take:
  %left = sub i64 %count, %g0
  %shares = udiv i64 %left, %share
  %some = call i64 @llvm.umax.i64(i64 %shares, i64 1)
  %chunks = call i64 @llvm.umin.i64(i64 %some, i64 %most)
  %taken = mul i64 %chunks, %chunk
  %ge = add i64 %g0, %taken
  %gend = call i64 @llvm.umin.i64(i64 %ge, i64 %count)
  %exchange = cmpxchg ptr %ctx, i64 %g0, i64 %ge monotonic monotonic
  %mine = extractvalue { i64, i1 } %exchange, 1
  br i1 %mine, label %begin, label %fetch
begin:
$order
  %gx0 = urem i64 $first, %nx
  %gr0 = udiv i64 $first, %nx
  %gy0 = urem i64 %gr0, %ny
  %gz0 = udiv i64 %gr0, %ny
  br label %group
group:
  %g = phi i64 [ %g0, %begin ], [ %g1, %ready ]
  %gx = phi i64 [ %gx0, %begin ], [ %gx2, %ready ]
  %gy = phi i64 [ %gy0, %begin ], [ %gy2, %ready ]
  %gz = phi i64 [ %gz0, %begin ], [ %gz2, %ready ]
$halt
  br i1 %halt, label %done, label %place
place:
  %ex = icmp eq i64 %gx, %lx
  %ey = icmp eq i64 %gy, %ly
  %ez = icmp eq i64 %gz, %lz
  %vx = select i1 %ex, i64 %px, i64 0
  %vy = select i1 %ey, i64 %py, i64 0
  %vz = select i1 %ez, i64 %pz, i64 0
  %v1 = or i64 %vx, %vy
  %v = or i64 %v1, %vz
  %variant = getelementptr [$VARIANT_SIZE x i8], ptr %variants, i64 %v
  br i1 %noslm, label %ready, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr align 64 %slm, i8 0, i64 %slm_size, i1 false)
$undefined
  br label %ready
ready:
  store i64 %gx, ptr %worker_x, align 8
  store i64 %gy, ptr %worker_y, align 8
  store i64 %gz, ptr %worker_z, align 8
  %inrow = sub i64 %row, %gx
  %inchunk = sub i64 %gend, %g
  %alike = call i64 @llvm.umin.i64(i64 %inrow, i64 %inchunk)
  %alike1 = call i64 @llvm.umax.i64(i64 %alike, i64 1)
  %several = select i1 %noslm, i64 %alike1, i64 1
  call void @group(ptr %ctx, ptr %worker, ptr %variant, i64 %gx, i64 $several)
  %g1 = add i64 %g, $several
  %gx1 = add i64 %gx, $several
  %wrapx = icmp eq i64 %gx1, %nx
  %gx2 = select i1 %wrapx, i64 0, i64 %gx1
  %carryx = zext i1 %wrapx to i64
  %gy1 = add i64 %gy, %carryx
  %wrapy = icmp eq i64 %gy1, %ny
  %gy2 = select i1 %wrapy, i64 0, i64 %gy1
  %carryy = zext i1 %wrapy to i64
  %gz2 = add i64 %gz, %carryy
  %over = icmp uge i64 %g1, %gend
  br i1 %over, label %fetch, label %group
done:
  ret void
}

;; entry_with_zeros
; Sets DAZ in MXCSR while ``run`` runs. It is a module of its own, so that no operation on floats moves across either end.
define void @$name(ptr %ctx, ptr %worker) #0 {
  %before = alloca i32, align 4
  %within = alloca i32, align 4
  call void @llvm.x86.sse.stmxcsr(ptr %before)
  %bits = load i32, ptr %before, align 4
  %changed = or i32 %bits, 64
  store i32 %changed, ptr %within, align 4
  call void @llvm.x86.sse.ldmxcsr(ptr %within)
  call void @run(ptr %ctx, ptr %worker)
  call void @llvm.x86.sse.ldmxcsr(ptr %before)
  ret void
}

;; undefined_slm
; Nothing in the group's local memory is defined.
  %undefined = get ptr, %worker, $WORKER_SLM_UNDEFINED
  call void @llvm.memset.p0.i64(ptr align 64 %undefined, i8 -1, i64 %slm_size, i1 false)

;; halt
; Whether the run is to stop or has failed.
  %stop.p = getelementptr i8, ptr %ctx, i64 $STOP
  %stop = load volatile i64, ptr %stop.p, align 8
  %failed.p = getelementptr i8, ptr %ctx, i64 $FAULT
  %failed = load volatile i64, ptr %failed.p, align 8
  %either = or i64 %stop, %failed
  %halt = icmp ne i64 %either, 0

;; group_order
; A schedule's order has the numbers of the groups.
  %group_order = get ptr, %ctx, $GROUP_ORDER
  %gn.p = getelementptr i64, ptr %group_order, i64 %g0
  %gn = load i64, ptr %gn.p, align 8

;; thread_order
  %thread_order = get ptr, %variant, $VARIANT_ORDER
  %tn.p = getelementptr i64, ptr %thread_order, i64 %t
  %tn = load i64, ptr %tn.p, align 8

;; record_fault
; Writes what went wrong, and who did it, into the context; the first fault stays. Where a thread was that is stopped goes to its worker; the first one stays,
; as those behind it end as soon as they begin.
define void @record_fault(ptr %ctx, ptr %worker, $arguments) #1 {
  %stopped = icmp eq i64 %kind, $STOPPED
  br i1 %stopped, label %stop, label %fault
stop:
  %place = get i64, %worker, $WORKER_STOPPED
  %known = icmp ne i64 %place, 0
  br i1 %known, label %end, label %note
note:
  %here = add i64 %instruction, 1
  store i64 %here, ptr %place.p, align 8
  set %worker, $WORKER_STOPPED_FUNCTION, %function
  set %worker, $WORKER_STOPPED_THREAD, %thread
  br label %end
fault:
  %f = getelementptr i8, ptr %ctx, i64 $FAULT
  %earlier = atomicrmw xchg ptr %f, i64 1 monotonic
  %mine = icmp eq i64 %earlier, 0
  br i1 %mine, label %record, label %end
record:
$group
$stores
  br label %end
end:
  ret void
}

;; stuck_order
  %stuck_order = get ptr, %variant, $VARIANT_ORDER
  %un.p = getelementptr i64, ptr %stuck_order, i64 %u
  %un = load i64, ptr %un.p, align 8

;; loop_over_groups
; So many threads at a time as are in the context (ROW_THREADS) run in each of the groups, then the next ones do.
  %threads = get i64, %variant, $VARIANT_THREADS
  %row_threads = get i64, %ctx, $ROW_THREADS
  %worker_x = getelementptr i8, ptr %worker, i64 $WORKER_GROUP
  %end = add i64 %first, %groups
  br label %row
row:
  %row_t = phi i64 [ 0, %entry ], [ %row_next, %row_end ]
  %row_next = add i64 %row_t, %row_threads
  %row_last = icmp uge i64 %row_next, %threads
  %row_t_end = select i1 %row_last, i64 %threads, i64 %row_next
  br label %group
group:
  %group_x = phi i64 [ %first, %row ], [ %group_x1, %behind ]
  store i64 %group_x, ptr %worker_x, align 8

;; loop_over_threads
  br label %begin
begin:
  %t = phi i64 [ %row_t, %group ], [ %t1, %next ]
$order
  %thread = or i64 $thread, 0

;; ends_of_loops
next:
  %t1 = add i64 %t, 1
  %more = icmp ult i64 %t1, %row_t_end
  br i1 %more, label %begin, label %behind
behind:
  %group_x1 = add i64 %group_x, 1
$halt
  %last = icmp eq i64 %group_x1, %end
  %leave = or i1 %last, %halt
  br i1 %leave, label %row_end, label %group
row_end:
  %finished = or i1 %row_last, %halt
  br i1 %finished, label %done, label %row
done:
  ret void

;; coroutine_intrinsics
declare token @llvm.coro.id(i32, ptr, ptr, ptr)
declare i64 @llvm.coro.size.i64()
declare i64 @llvm.coro.align.i64()
declare ptr @llvm.coro.begin(token, ptr)
declare i8 @llvm.coro.suspend(token, i1)
declare ptr @llvm.coro.free(token, ptr)
$end

;; coroutine_begin
; All threads begin by waiting: so the code in front of the first barrier is in the resumed part alone, not in two functions.
  %coro = call token @llvm.coro.id(i32 $ARENA_ALIGN, ptr null, ptr null, ptr null)
  %frame_size = call i64 @llvm.coro.size.i64()
  set %worker, $WORKER_FRAME_SIZE, %frame_size
  %frame_align = call i64 @llvm.coro.align.i64()
  set %worker, $WORKER_FRAME_ALIGN, %frame_align
  %handle = call ptr @llvm.coro.begin(token %coro, ptr %frame)

;; coroutine_first_suspend
  %begin = call i8 @llvm.coro.suspend(token none, i1 false)
  switch i8 %begin, label %suspend [ i8 0, label %started i8 1, label %cleanup ]
started:

;; coroutine_end
  %last = call i8 @llvm.coro.suspend(token none, i1 true)
  switch i8 %last, label %suspend [ i8 0, label %never i8 1, label %cleanup ]
never:
  unreachable
cleanup:
  %freed = call ptr @llvm.coro.free(token %coro, ptr %handle)
  br label %suspend
suspend:
  $end
  ret ptr %handle

;; phases
; ``group`` of a kernel with barriers, a coroutine: begins all threads, then resumes them in turn until all have ended. If some have and others wait, the first of
; these is the one that is named; where it is, it has noted, if there is more than one barrier. A coroutine may run several threads ($threads_per_coroutine, a divisor of their
; number).
define void @group($arguments) #0 {
entry:
  %arena = get ptr, %worker, $WORKER_ARENA
  %arena_size = get i64, %worker, $WORKER_ARENA_SIZE
  %handles = get ptr, %worker, $WORKER_HANDLES
  %threads = get i64, %variant, $VARIANT_THREADS
$no_epoch
  br label %thread
thread:
  %t = phi i64 [ 0, %entry ], [ %t1, %after ]
  %n = phi i64 [ 0, %entry ], [ %count, %after ]
  %used = phi i64 [ 0, %entry ], [ %used1, %after ]
$order
  %t1 = add i64 %t, $threads_per_coroutine
  %count = add i64 %n, 1
  %frame = getelementptr i8, ptr %arena, i64 %used
  %handle = call ptr @kernel(ptr %ctx, ptr %worker, ptr %variant, i64 $thread, i64 %first, ptr %frame)
  %slot = getelementptr ptr, ptr %handles, i64 %n
  store ptr %handle, ptr %slot, align 8
  %frame_size = get i64, %worker, $WORKER_FRAME_SIZE
  %frame_align = get i64, %worker, $WORKER_FRAME_ALIGN
  %frame_more = add i64 %frame_size, 63
  %frame_mask = sub i64 0, %frame_align
  %frame_up = add i64 %frame_more, %frame_align
  %frame_even = and i64 %frame_up, %frame_mask
  %frame_space = and i64 %frame_even, -64
  %used1 = add i64 %used, %frame_space
  %next_end = add i64 %used1, %frame_space
  %full = icmp ugt i64 %next_end, %arena_size
  br i1 %full, label %nospace, label %after
after:
  %more = icmp ult i64 %t1, %threads
  br i1 %more, label %thread, label %phase
phase:
$next_epoch
  br label %check
check:
  %c = phi i64 [ 0, %phase ], [ %c1, %check ]
  %ended = phi i64 [ 0, %phase ], [ %ended1, %check ]
  %cs = getelementptr ptr, ptr %handles, i64 %c
  %ch = load ptr, ptr %cs, align 8
  %isdone = call i1 @llvm.coro.done(ptr %ch)
  %isdone64 = zext i1 %isdone to i64
  %ended1 = add i64 %ended, %isdone64
  %c1 = add i64 %c, 1
  %cmore = icmp ult i64 %c1, %count
  br i1 %cmore, label %check, label %checked
checked:
$halt
  br i1 %halt, label %done, label %balance
balance:
  %all = icmp eq i64 %ended1, %count
  br i1 %all, label %done, label %some
some:
  %none = icmp eq i64 %ended1, 0
  br i1 %none, label %resume, label %stuck
resume:
  %r = phi i64 [ 0, %some ], [ %r1, %resume ]
  %rs = getelementptr ptr, ptr %handles, i64 %r
  %rh = load ptr, ptr %rs, align 8
  call void @llvm.coro.resume(ptr %rh)
  %r1 = add i64 %r, 1
  %rmore = icmp ult i64 %r1, %count
  br i1 %rmore, label %resume, label %phase
stuck:
  br label %search
search:
  %u = phi i64 [ 0, %stuck ], [ %u1, %search ]
  %us = getelementptr ptr, ptr %handles, i64 %u
  %uh = load ptr, ptr %us, align 8
  %uover = call i1 @llvm.coro.done(ptr %uh)
  %u1 = add i64 %u, 1
  br i1 %uover, label %search, label %found
found:
  %first_stuck = mul i64 %u, $threads_per_coroutine
$stuck_order
  %sites = getelementptr i8, ptr %handles, i64 $HANDLE_SITES
  %site.p = getelementptr i64, ptr %sites, i64 $stuck_thread
  %site = load i64, ptr %site.p, align 8
  call void @record_fault(ptr %ctx, ptr %worker, i64 $BARRIER, i64 0, i64 %site, $stuck_zeros, i64 $stuck_thread)
  br label %done
nospace:
  call void @record_fault(ptr %ctx, ptr %worker, i64 $FRAMES, $zeros)
  br label %done
done:
  ret void
}
