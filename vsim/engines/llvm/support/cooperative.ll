; The driver where threads take turns: each waits wherever it likes, at any barrier, in any function (see cooperative.py).
;
; A thread has a record. Functions in which it can wait are coroutines with frames of their own; the record names the one that is to run on. A call makes a frame
; for the callee, names it, and suspends the caller; an end names the caller again. So the stack of the worker is as deep for all of them, and what a thread is at
; lies in its frames.

;; run
; Runs the threads of groups in turn until all have ended. A group begins when those before it have ended, or when none of their threads does anything but take its
; turn: they wait for others (round-robin: as many at once as there are structures for them).
define void @run(ptr noalias %ctx, ptr %worker) #0 {
entry:
  %count = get i64, %ctx, $GROUP_COUNT
  %arena = get ptr, %worker, $WORKER_ARENA
  %arena_size = get i64, %worker, $WORKER_ARENA_SIZE
  %arena_first = getelementptr i8, ptr %arena, i64 $ARENA_FIRST
  %arena_end.p = getelementptr i8, ptr %arena, i64 $ARENA_END
  %arena_end = getelementptr i8, ptr %arena, i64 %arena_size
  %free.p = alloca ptr, align 8
  %begun.p = alloca i1, align 1
  br label %batch
batch:
  call void @llvm.memset.p0.i64(ptr align 64 %arena, i8 0, i64 $ARENA_FIRST, i1 false)
  store ptr %arena_first, ptr %arena, align 8
  store ptr %arena_end, ptr %arena_end.p, align 8
  store ptr %worker, ptr %free.p, align 8
  store i1 false, ptr %begun.p, align 1
  br label %clear
clear:
  %c = phi ptr [ %worker, %batch ], [ %c.next, %clear ]
  set %c, $WORKER_LIVE, 0
  %c.next = get ptr, %c, $WORKER_NEXT
  %c.last = icmp eq ptr %c.next, null
  br i1 %c.last, label %admit, label %clear
admit:
  %w = load ptr, ptr %free.p, align 8
  %halt0 = call i1 @halts(ptr %ctx)
  br i1 %halt0, label %done, label %number
number:
  %g = atomicrmw add ptr %ctx, i64 1 monotonic
  %nothing = icmp uge i64 %g, %count
  br i1 %nothing, label %nothing_left, label %begin
nothing_left:
  store ptr null, ptr %free.p, align 8
  %some = load i1, ptr %begun.p, align 1
  br i1 %some, label %round, label %done
begin:
  %good = call i1 @begin_group(ptr %ctx, ptr %w, i64 %g)
  br i1 %good, label %admitted, label %done
admitted:
  store i1 true, ptr %begun.p, align 1
  %w.next = get ptr, %w, $WORKER_NEXT
  store ptr %w.next, ptr %free.p, align 8
  %full = icmp eq ptr %w.next, null
  %enough = or i1 %full, $one_by_one
  br i1 %enough, label %round, label %admit
round:
  br label %group
group:
  %s = phi ptr [ %worker, %round ], [ %s.next, %swept ]
  %ran = phi i64 [ 0, %round ], [ %ran1, %swept ]
  %live = phi i64 [ 0, %round ], [ %live1, %swept ]
  %s.live = get i64, %s, $WORKER_LIVE
  %s.empty = icmp eq i64 %s.live, 0
  br i1 %s.empty, label %swept, label %sweep
sweep:
  %s.ran = call i64 @sweep(ptr %ctx, ptr %s)
  %halt1 = call i1 @halts(ptr %ctx)
  br i1 %halt1, label %done, label %left
left:
  %s.left = load i64, ptr %s.live.p, align 8
  br label %swept
swept:
  %more_ran = phi i64 [ 0, %group ], [ %s.ran, %left ]
  %more_live = phi i64 [ 0, %group ], [ %s.left, %left ]
  %ran1 = add i64 %ran, %more_ran
  %live1 = add i64 %live, %more_live
  %s.next = get ptr, %s, $WORKER_NEXT
  %s.last = icmp eq ptr %s.next, null
  br i1 %s.last, label %rounded, label %group
rounded:
  %ended = icmp eq i64 %live1, 0
  br i1 %ended, label %batch, label %balance
balance:
  %all_wait = icmp ult i64 %ran1, $MOVED
  br i1 %all_wait, label %wait, label %round
wait:
  %free = load ptr, ptr %free.p, align 8
  %closed = icmp eq ptr %free, null
  br i1 %closed, label %alone, label %admit
alone:
  %still = icmp eq i64 %ran1, 0
  br i1 %still, label %stuck, label %round
stuck:
  call void @record_stuck(ptr %ctx, ptr %worker)
  br label %done
done:
  ret void
}

;; halts
; Whether the run is to stop or has failed.
define internal i1 @halts(ptr %ctx) #1 {
entry:
$halt
  ret i1 %halt
}

;; begin_group
; Puts a group in a structure, with all its threads at their beginning; false if their frames have no room.
define internal i1 @begin_group(ptr %ctx, ptr %worker, i64 %g0) #1 {
entry:
  %nx = get i64, %ctx, $COUNTS
  %ny = get i64, %ctx, $COUNTS_Y
  %nz = get i64, %ctx, $COUNTS_Z
  %px = get i64, %ctx, $PARTIAL
  %py = get i64, %ctx, $PARTIAL_Y
  %pz = get i64, %ctx, $PARTIAL_Z
  %variants = get ptr, %ctx, $VARIANTS
$order
  %gx = urem i64 $first, %nx
  %gr = udiv i64 $first, %nx
  %gy = urem i64 %gr, %ny
  %gz = udiv i64 %gr, %ny
  %lx = sub i64 %nx, 1
  %ly = sub i64 %ny, 1
  %lz = sub i64 %nz, 1
  %ex = icmp eq i64 %gx, %lx
  %ey = icmp eq i64 %gy, %ly
  %ez = icmp eq i64 %gz, %lz
  %vx = select i1 %ex, i64 %px, i64 0
  %vy = select i1 %ey, i64 %py, i64 0
  %vz = select i1 %ez, i64 %pz, i64 0
  %v1 = or i64 %vx, %vy
  %v = or i64 %v1, %vz
  %variant = getelementptr [$VARIANT_SIZE x i8], ptr %variants, i64 %v
  set %worker, $WORKER_GROUP, %gx
  set %worker, $WORKER_GROUP_Y, %gy
  set %worker, $WORKER_GROUP_Z, %gz
  %slm = get ptr, %worker, $WORKER_SLM
  %slm_size = get i64, %ctx, $SLM_SIZE
  call void @llvm.memset.p0.i64(ptr align 64 %slm, i8 0, i64 %slm_size, i1 false)
$undefined
  %named = get ptr, %worker, $WORKER_NAMED
  call void @llvm.memset.p0.i64(ptr align 64 %named, i8 0, i64 $NAMED_SIZE, i1 false)
  %threads = get i64, %variant, $VARIANT_THREADS
  %live.p = getelementptr i8, ptr %worker, i64 $WORKER_LIVE
  store i64 %threads, ptr %live.p, align 8
  set %worker, $WORKER_COUNT, %threads
$no_meeting
  %records = get ptr, %worker, $WORKER_RECORDS
  %mine.p = getelementptr i8, ptr %worker, i64 $WORKER_THREAD
  br label %thread
thread:
  %t = phi i64 [ 0, %entry ], [ %t1, %after ]
$thread_order
  %record = getelementptr [$RECORD_SIZE x i8], ptr %records, i64 %t
  call void @llvm.memset.p0.i64(ptr align 64 %record, i8 0, i64 $RECORD_SIZE, i1 false)
  set %record, $RECORD_NUMBER, $thread
  store ptr %record, ptr %mine.p, align 8
  %handle = call ptr @kernel(ptr %ctx, ptr %worker, ptr %variant, i64 $thread, i64 %gx)
  %none = icmp eq ptr %handle, null
  br i1 %none, label %full, label %after
after:
  %t1 = add i64 %t, 1
  %more = icmp ult i64 %t1, %threads
  br i1 %more, label %thread, label %good
good:
  ret i1 true
full:
  call void @record_fault(ptr %ctx, ptr %worker, i64 $FRAMES, $zeros, i64 $thread)
  ret i1 false
}

;; sweep
; Lets each thread of a group that need not wait run until it waits; how many ran, and, from bit 32 on, how many of them did more than take their turn.
define internal i64 @sweep(ptr %ctx, ptr %worker) #1 {
entry:
  %threads = get i64, %worker, $WORKER_COUNT
  %live.p = getelementptr i8, ptr %worker, i64 $WORKER_LIVE
  %records = get ptr, %worker, $WORKER_RECORDS
  %mine.p = getelementptr i8, ptr %worker, i64 $WORKER_THREAD
  %named = get ptr, %worker, $WORKER_NAMED
  br label %count
count:
  %c = phi i64 [ 0, %entry ], [ %c1, %count ]
  %least = phi i64 [ -1, %entry ], [ %least1, %count ]
  %counted = getelementptr [$RECORD_SIZE x i8], ptr %records, i64 %c
  %arrivals = get i64, %counted, $RECORD_ARRIVALS
  %least1 = call i64 @llvm.umin.i64(i64 %least, i64 %arrivals)
  %c1 = add i64 %c, 1
  %cmore = icmp ult i64 %c1, %threads
  br i1 %cmore, label %count, label %turns
turns:
  br label %turn
turn:
  %t = phi i64 [ 0, %turns ], [ %t1, %next ]
  %ran = phi i64 [ 0, %turns ], [ %ran1, %next ]
  %record = getelementptr [$RECORD_SIZE x i8], ptr %records, i64 %t
  %current = get ptr, %record, $RECORD_CURRENT
  %over = icmp eq ptr %current, null
  br i1 %over, label %next, label %look
look:
  %state = get i64, %record, $RECORD_STATE
  switch i64 %state, label %named_one [ i64 $GO_ON, label %go i64 $TURN, label %go i64 $GROUP_BARRIER, label %whole ]
whole:
  %departures = get i64, %record, $RECORD_DEPARTURES
  %whole_open = icmp ult i64 %departures, %least1
  br i1 %whole_open, label %depart, label %next
depart:
  %departures1 = add i64 %departures, 1
  store i64 %departures1, ptr %departures.p, align 8
  br label %go
named_one:
  %n = sub i64 %state, $FIRST_NAMED
  %all_waits = getelementptr i8, ptr %record, i64 $RECORD_WAITS
  %waits.p = getelementptr i64, ptr %all_waits, i64 %n
  %waits = load i64, ptr %waits.p, align 8
  %all_openings = getelementptr i8, ptr %named, i64 $NAMED_OPENINGS
  %openings.p = getelementptr i64, ptr %all_openings, i64 %n
  %openings = load i64, ptr %openings.p, align 8
  %named_open = icmp ult i64 %waits, %openings
  br i1 %named_open, label %enter, label %next
enter:
  %waits1 = add i64 %waits, 1
  store i64 %waits1, ptr %waits.p, align 8
  br label %go
go:
  store ptr %record, ptr %mine.p, align 8
  br label %resume
resume:
  %handle = load ptr, ptr %current.p, align 8
  call void @llvm.coro.resume(ptr %handle)
  %ended = get ptr, %record, $RECORD_ENDED
  %stays = icmp eq ptr %ended, null
  br i1 %stays, label %check, label %free
free:
  %ended_size = get i64, %record, $RECORD_ENDED_SIZE
  call void @frame_free(ptr %worker, ptr %ended, i64 %ended_size)
  store ptr null, ptr %ended.p, align 8
  br label %check
check:
  %halt = call i1 @halts(ptr %ctx)
  br i1 %halt, label %stop, label %on
on:
  %now = load ptr, ptr %current.p, align 8
  %gone = icmp eq ptr %now, null
  br i1 %gone, label %leave, label %again
again:
  %why = load i64, ptr %state.p, align 8
  %goes_on = icmp eq i64 %why, $GO_ON
  %turned = icmp eq i64 %why, $TURN
  %stayed = select i1 %turned, i64 1, i64 $RAN_AND_MOVED
  br i1 %goes_on, label %resume, label %next
leave:
  %live = load i64, ptr %live.p, align 8
  %live1 = sub i64 %live, 1
  store i64 %live1, ptr %live.p, align 8
  br label %next
next:
  %mine = phi i64 [ 0, %turn ], [ 0, %whole ], [ 0, %named_one ], [ %stayed, %again ], [ $RAN_AND_MOVED, %leave ]
  %ran1 = add i64 %ran, %mine
  %t1 = add i64 %t, 1
  %more = icmp ult i64 %t1, %threads
  br i1 %more, label %turn, label %stop
stop:
  %all = phi i64 [ %ran, %check ], [ %ran1, %next ]
  ret i64 %all
}

;; record_stuck
; The fault that nobody goes on: where the first thread waits that has not ended.
define internal void @record_stuck(ptr %ctx, ptr %worker) #1 {
entry:
  br label %group
group:
  %w = phi ptr [ %worker, %entry ], [ %w.next, %skip ]
  %live = get i64, %w, $WORKER_LIVE
  %empty = icmp eq i64 %live, 0
  br i1 %empty, label %skip, label %search
skip:
  %w.next = get ptr, %w, $WORKER_NEXT
  br label %group
search:
  %records = get ptr, %w, $WORKER_RECORDS
  br label %look
look:
  %t = phi i64 [ 0, %search ], [ %t1, %look ]
  %record = getelementptr [$RECORD_SIZE x i8], ptr %records, i64 %t
  %current = get ptr, %record, $RECORD_CURRENT
  %t1 = add i64 %t, 1
  %over = icmp eq ptr %current, null
  br i1 %over, label %look, label %found
found:
  %site = get i64, %record, $RECORD_SITE
  %function = lshr i64 %site, 32
  %instruction = and i64 %site, 4294967295
  %number = get i64, %record, $RECORD_NUMBER
$ended
  call void @record_fault(ptr %ctx, ptr %w, i64 $BARRIER, i64 %function, i64 %instruction, $zeros, i64 %number)
  ret void
}

;; arrive
; A thread comes to a named barrier, which opens when as many producers and consumers have come as are wanted: numbers of
; 8 bits; two bits behind them say what this thread is. Arrivals are two numbers of 32 bits in one.
define void @arrive(ptr %worker, ptr %record, i64 %n, i64 %wanted) #1 {
entry:
  %named = get ptr, %worker, $WORKER_NAMED
  %arrivals.p = getelementptr i64, ptr %named, i64 %n
  %arrivals = load i64, ptr %arrivals.p, align 8
  %as_producer = lshr i64 %wanted, 16
  %produces = and i64 %as_producer, 1
  %as_consumer = lshr i64 %wanted, 17
  %consumes = and i64 %as_consumer, 1
  %consumer = shl i64 %consumes, 32
  %arrival = or i64 %produces, %consumer
  %arrivals1 = add i64 %arrivals, %arrival
  %producers = and i64 %arrivals1, 4294967295
  %consumers = lshr i64 %arrivals1, 32
  %wanted_producers = and i64 %wanted, 255
  %behind = lshr i64 %wanted, 8
  %wanted_consumers = and i64 %behind, 255
  %enough_produce = icmp uge i64 %producers, %wanted_producers
  %enough_consume = icmp uge i64 %consumers, %wanted_consumers
  %enough = and i1 %enough_produce, %enough_consume
  %left = select i1 %enough, i64 0, i64 %arrivals1
  store i64 %left, ptr %arrivals.p, align 8
  %opens = zext i1 %enough to i64
  %all_openings = getelementptr i8, ptr %named, i64 $NAMED_OPENINGS
  %openings.p = getelementptr i64, ptr %all_openings, i64 %n
  %openings = load i64, ptr %openings.p, align 8
  %openings1 = add i64 %openings, %opens
  store i64 %openings1, ptr %openings.p, align 8
  %all_waits = getelementptr i8, ptr %record, i64 $RECORD_WAITS
  %waits.p = getelementptr i64, ptr %all_waits, i64 %n
  %waits = load i64, ptr %waits.p, align 8
  %waits_here = icmp ne i64 %consumes, 0
  %waits1 = select i1 %waits_here, i64 %openings, i64 %waits
  store i64 %waits1, ptr %waits.p, align 8
  ret void
}

;; frames
; Memory for a frame, of the next power of two: one that is free again, or a new one; null if there is no room.
define ptr @frame_allocate(ptr %worker, i64 %size) #1 {
entry:
  %arena = get ptr, %worker, $WORKER_ARENA
  %class = call i64 @frame_class(i64 %size)
  %lists = getelementptr i8, ptr %arena, i64 $ARENA_FREE
  %list = getelementptr i64, ptr %lists, i64 %class
  %free = load ptr, ptr %list, align 8
  %none = icmp eq ptr %free, null
  br i1 %none, label %fresh, label %again
again:
  %following = load ptr, ptr %free, align 8
  store ptr %following, ptr %list, align 8
  ret ptr %free
fresh:
  %bytes = shl i64 1, %class
  %place = load ptr, ptr %arena, align 8
  %end = get ptr, %arena, $ARENA_END
  %place.i = ptrtoint ptr %place to i64
  %end.i = ptrtoint ptr %end to i64
  %left = sub i64 %end.i, %place.i
  %fits = icmp ule i64 %bytes, %left
  br i1 %fits, label %take, label %full
take:
  %behind = getelementptr i8, ptr %place, i64 %bytes
  store ptr %behind, ptr %arena, align 8
  ret ptr %place
full:
  ret ptr null
}
define internal void @frame_free(ptr %worker, ptr %frame, i64 %size) #1 {
entry:
  %arena = get ptr, %worker, $WORKER_ARENA
  %class = call i64 @frame_class(i64 %size)
  %lists = getelementptr i8, ptr %arena, i64 $ARENA_FREE
  %list = getelementptr i64, ptr %lists, i64 %class
  %first = load ptr, ptr %list, align 8
  store ptr %first, ptr %frame, align 8
  store ptr %frame, ptr %list, align 8
  ret void
}
define internal i64 @frame_class(i64 %size) #1 {
entry:
  %least = call i64 @llvm.umax.i64(i64 %size, i64 $ARENA_ALIGN)
  %below = sub i64 %least, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %below, i1 true)
  %class = sub i64 64, %zeros
  ret i64 %class
}

;; function_begin
; The beginning of a function in which a thread can wait: its frame is the one that runs next. Without room for it nothing begins.
  %record = get ptr, %worker, $WORKER_THREAD
  %coro = call token @llvm.coro.id(i32 $ARENA_ALIGN, ptr null, ptr null, ptr null)
  %frame_size = call i64 @llvm.coro.size.i64()
  %frame = call ptr @frame_allocate(ptr %worker, i64 %frame_size)
  %refused = icmp eq ptr %frame, null
  br i1 %refused, label %without, label %framed
without:
  ret ptr null
framed:
  %handle = call ptr @llvm.coro.begin(token %coro, ptr %frame)
  %parent = load ptr, ptr %record, align 8
  store ptr %handle, ptr %record, align 8

;; function_first_suspend
  %begin = call i8 @llvm.coro.suspend(token none, i1 false)
  switch i8 %begin, label %suspend [ i8 0, label %started i8 1, label %cleanup ]
started:

;; function_end
; Its end, where its caller runs next, and its frame is given back.
  store ptr %parent, ptr %record, align 8
  %ended.p = getelementptr i8, ptr %record, i64 $RECORD_ENDED
  store ptr %handle, ptr %ended.p, align 8
  %ended_size = call i64 @llvm.coro.size.i64()
  set %record, $RECORD_ENDED_SIZE, %ended_size
  %state.p = getelementptr i8, ptr %record, i64 $RECORD_STATE
  store i64 $GO_ON, ptr %state.p, align 8
