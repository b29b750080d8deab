; Clocks of threads: what compiled code calls where threads begin, come to the barrier of their group, leave it, and end (see clocks.py).

;; begin
; A thread begins. ``clock`` is its record.
define void @clock_begin(ptr %ctx, ptr %worker, ptr %clock, i64 %thread) #1 {
entry:
  %block = get ptr, %ctx, $CLOCKS
  %begun = get i64, %block, $CLOCKS_BEGUN
  %x = get i64, %worker, $WORKER_GROUP
  %y = get i64, %worker, $WORKER_GROUP_Y
  %z = get i64, %worker, $WORKER_GROUP_Z
  %count_x = get i64, %ctx, $COUNTS
  %count_y = get i64, %ctx, $COUNTS_Y
  %row = mul i64 %z, %count_y
  %rows = add i64 %row, %y
  %before = mul i64 %rows, %count_x
  %group = add i64 %before, %x
  %is_shown = icmp ult i64 %begun, $CLOCKS_SHOWN
  %shown = zext i1 %is_shown to i64
  %begun1 = add i64 %begun, 1
  set %block, $CLOCKS_BEGUN, %begun1
  set %clock, $CLOCK_TIME, 0
  set %clock, $CLOCK_SIGNALS, 0
  set %clock, $CLOCK_WAITS, 0
  set %clock, $CLOCK_SHOWN, %shown
  set %clock, $CLOCK_GROUP, %group
  set %clock, $CLOCK_THREAD, %thread
  set %clock, $CLOCK_STACK, 0
  ret void
}

;; arrive
; A thread arrives at the barrier of its group, with so many instructions of its block to come that its clock has already. ``ring`` has the last arrivals at
; the latest uses of the barrier: the use, with the group, and the time.
define void @clock_arrive(ptr %ring, ptr %clock, i64 %later) #1 {
entry:
  %time = get i64, %clock, $CLOCK_TIME
  %signals = get i64, %clock, $CLOCK_SIGNALS
  %group = get i64, %clock, $CLOCK_GROUP
  %now = sub i64 %time, %later
  %signals1 = add i64 %signals, 1
  set %clock, $CLOCK_SIGNALS, %signals1
  %group.s = shl i64 %group, 32
  %use = or i64 %group.s, %signals1
  %slot = and i64 %signals, $CLOCK_USES_MASK
  %opening = getelementptr [16 x i8], ptr %ring, i64 %slot
  %use.o = load i64, ptr %opening, align 8
  %last.p = getelementptr i8, ptr %opening, i64 8
  %last.o = load i64, ptr %last.p, align 8
  %is_same = icmp eq i64 %use.o, %use
  %is_earlier = icmp ult i64 %last.o, %now
  %is_new = xor i1 %is_same, true
  %changes = or i1 %is_new, %is_earlier
  %last = select i1 %changes, i64 %now, i64 %last.o
  store i64 %use, ptr %opening, align 8
  store i64 %last, ptr %last.p, align 8
  ret void
}

;; leave
; A thread leaves the barrier of its group: its clock goes on to the last arrival.
define void @clock_leave(ptr %ctx, ptr %ring, ptr %clock, ptr %site, i64 %number, i64 %later) #1 {
entry:
  %time = get i64, %clock, $CLOCK_TIME
  %waits = get i64, %clock, $CLOCK_WAITS
  %group = get i64, %clock, $CLOCK_GROUP
  %shown = get i64, %clock, $CLOCK_SHOWN
  %threads = get i64, %site, $WAIT_THREADS
  %all_waited = get i64, %site, $WAIT_WAITED
  %longest = get i64, %site, $WAIT_LONGEST
  %now = sub i64 %time, %later
  %slot = and i64 %waits, $CLOCK_USES_MASK
  %opening = getelementptr [16 x i8], ptr %ring, i64 %slot
  %waits1 = add i64 %waits, 1
  %group.s = shl i64 %group, 32
  %use = or i64 %group.s, %waits1
  %use.o = load i64, ptr %opening, align 8
  %last.p = getelementptr i8, ptr %opening, i64 8
  %last.o = load i64, ptr %last.p, align 8
  %is_same = icmp eq i64 %use.o, %use
  %is_later = icmp ugt i64 %last.o, %now
  %has_waited = and i1 %is_same, %is_later
  %last = select i1 %has_waited, i64 %last.o, i64 %now
  %waited = sub i64 %last, %now
  %time1 = add i64 %time, %waited
  %threads1 = add i64 %threads, 1
  %all_waited1 = add i64 %all_waited, %waited
  %is_longer = icmp ugt i64 %waited, %longest
  %longest1 = select i1 %is_longer, i64 %waited, i64 %longest
  set %clock, $CLOCK_TIME, %time1
  set %clock, $CLOCK_WAITS, %waits1
  set %site, $WAIT_THREADS, %threads1
  set %site, $WAIT_WAITED, %all_waited1
  set %site, $WAIT_LONGEST, %longest1
  %is_shown = icmp ne i64 %shown, 0
  %is_logged = and i1 %is_shown, %has_waited
  br i1 %is_logged, label %log, label %done
log:
  call void @clock_log(ptr %ctx, ptr %clock, i64 %number, i64 %now, i64 %last)
  br label %done
done:
  ret void
}

;; end
; A thread ends.
define void @clock_end(ptr %ctx, ptr %clock) #1 {
entry:
  %block = get ptr, %ctx, $CLOCKS
  %longest = get i64, %block, $CLOCKS_LONGEST
  %time = get i64, %clock, $CLOCK_TIME
  %shown = get i64, %clock, $CLOCK_SHOWN
  %is_longer = icmp ugt i64 %time, %longest
  %longest1 = select i1 %is_longer, i64 %time, i64 %longest
  set %block, $CLOCKS_LONGEST, %longest1
  %is_shown = icmp ne i64 %shown, 0
  br i1 %is_shown, label %log, label %done
log:
  call void @clock_log(ptr %ctx, ptr %clock, i64 $CLOCK_ENDS, i64 0, i64 %time)
  br label %done
done:
  ret void
}

;; log
; Keeps a part of a thread's time, in a list that the host empties when it is full.
define internal void @clock_log(ptr %ctx, ptr %clock, i64 %number, i64 %begin, i64 %end) #1 {
entry:
  %block = get ptr, %ctx, $CLOCKS
  %list = get ptr, %block, $CLOCKS_LIST
  %used = get i64, %block, $CLOCKS_USED
  %group = get i64, %clock, $CLOCK_GROUP
  %thread = get i64, %clock, $CLOCK_THREAD
  %record = getelementptr [$CLOCK_RECORD x i8], ptr %list, i64 %used
  %used1 = add i64 %used, 1
  set %block, $CLOCKS_USED, %used1
  set %record, 0, %group
  set %record, 8, %thread
  set %record, 16, %number
  set %record, 24, %begin
  set %record, 32, %end
  %is_full = icmp eq i64 %used1, $CLOCKS_ROOM
  br i1 %is_full, label %full, label %done
full:
  %empties = get ptr, %block, $CLOCKS_EMPTY
  call void %empties()
  br label %done
done:
  ret void
}

;; ran
; A thread comes to a block of so many instructions, in a kernel that calls: they belong to the stack of the thread's calls. ``count`` is 0 if no lane runs.
define void @clock_ran(ptr %ctx, ptr %clock, i64 %number, i64 %count) #1 {
entry:
  %none = icmp eq i64 %count, 0
  br i1 %none, label %done, label %some
done:
  ret void
some:
  %block = get ptr, %ctx, $CLOCKS
  %time = get i64, %clock, $CLOCK_TIME
  %stack = get i64, %clock, $CLOCK_STACK
  %time1 = add i64 %time, %count
  %key = add i64 %stack, 1
  set %clock, $CLOCK_TIME, %time1
  %values = getelementptr i8, ptr %block, i64 $CLOCKS_VALUES
  call void @count_value(ptr %values, i64 %key, i64 %number)
  ret void
}

;; call
; A thread calls; its clock has ``later`` instructions behind the call already. The host numbers a new stack.
define void @clock_call(ptr %ctx, ptr %clock, i64 %callee, i64 %later) #1 {
entry:
  %block = get ptr, %ctx, $CLOCKS
  %time = get i64, %clock, $CLOCK_TIME
  %stack = get i64, %clock, $CLOCK_STACK
  %shown = get i64, %clock, $CLOCK_SHOWN
  %time1 = sub i64 %time, %later
  %key.h = shl i64 %stack, 32
  %key = or i64 %key.h, %callee
  br label %begin
begin:
  %table = get ptr, %block, $CLOCKS_STACKS
  %mask = get i64, %block, $CLOCKS_STACKS_MASK
  %mixed = mul i64 %key, -7046029254386353131
  %start = lshr i64 %mixed, 32
  br label %look
look:
  %at.o = phi i64 [ %start, %begin ], [ %at.1, %other ]
  %at = and i64 %at.o, %mask
  %record = getelementptr [16 x i8], ptr %table, i64 %at
  %key.o = load i64, ptr %record, align 8
  %is_it = icmp eq i64 %key.o, %key
  br i1 %is_it, label %found, label %differs
differs:
  %at.1 = add i64 %at, 1
  %is_free = icmp eq i64 %key.o, 0
  br i1 %is_free, label %new, label %other
other:
  br label %look
new:
  set %block, $CLOCKS_WANTED, %key
  %makes = get ptr, %block, $CLOCKS_MAKES
  call void %makes()
  br label %begin
found:
  %number.p = getelementptr i8, ptr %record, i64 8
  %stack.n = load i64, ptr %number.p, align 8
  set %clock, $CLOCK_TIME, %time1
  set %clock, $CLOCK_STACK, %stack.n
  %is_shown = icmp ne i64 %shown, 0
  br i1 %is_shown, label %log, label %done
log:
  %number = sub i64 $CLOCK_CALL, %stack.n
  call void @clock_log(ptr %ctx, ptr %clock, i64 %number, i64 %time1, i64 %time1)
  br label %done
done:
  ret void
}

;; return
; A thread returns to where ``later`` instructions follow.
define void @clock_return(ptr %ctx, ptr %clock, i64 %later) #1 {
entry:
  %block = get ptr, %ctx, $CLOCKS
  %callers = get ptr, %block, $CLOCKS_CALLERS
  %time = get i64, %clock, $CLOCK_TIME
  %stack = get i64, %clock, $CLOCK_STACK
  %shown = get i64, %clock, $CLOCK_SHOWN
  %caller.p = getelementptr i64, ptr %callers, i64 %stack
  %caller = load i64, ptr %caller.p, align 8
  %time1 = add i64 %time, %later
  set %clock, $CLOCK_TIME, %time1
  set %clock, $CLOCK_STACK, %caller
  %is_shown = icmp ne i64 %shown, 0
  br i1 %is_shown, label %log, label %done
log:
  call void @clock_log(ptr %ctx, ptr %clock, i64 $CLOCK_RETURN, i64 %time, i64 %time)
  br label %done
done:
  ret void
}
