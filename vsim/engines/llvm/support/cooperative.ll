; The driver where threads take turns: each waits wherever it likes, at any barrier, in any function (see turns.py).
;
; A thread has a record. Functions in which it can wait are coroutines with frames of their own; the record names the one that is to run on. A call makes a frame
; for the callee, names it, and suspends the caller; an end names the caller again. So the stack of the worker is as deep for all of them, and what a thread is at
; lies in its frames.

;; run
; Runs the threads of groups in turn until all have ended. A group begins when those before it have ended, or when none of their threads does anything but take its
; turn: they wait for others (round-robin: as many at once as there are structures for them).
define void @run(ptr noalias %ctx, ptr %worker) #0 {
entry:
  %count.p = getelementptr i8, ptr %ctx, i64 $GROUP_COUNT
  %count = load i64, ptr %count.p, align 8
  %arena.p = getelementptr i8, ptr %worker, i64 $WORKER_ARENA
  %arena = load ptr, ptr %arena.p, align 8
  %arena_size.p = getelementptr i8, ptr %worker, i64 $WORKER_ARENA_SIZE
  %arena_size = load i64, ptr %arena_size.p, align 8
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
  %c.live = getelementptr i8, ptr %c, i64 $WORKER_LIVE
  store i64 0, ptr %c.live, align 8
  %c.next.p = getelementptr i8, ptr %c, i64 $WORKER_NEXT
  %c.next = load ptr, ptr %c.next.p, align 8
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
  %w.next.p = getelementptr i8, ptr %w, i64 $WORKER_NEXT
  %w.next = load ptr, ptr %w.next.p, align 8
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
  %s.live.p = getelementptr i8, ptr %s, i64 $WORKER_LIVE
  %s.live = load i64, ptr %s.live.p, align 8
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
  %s.next.p = getelementptr i8, ptr %s, i64 $WORKER_NEXT
  %s.next = load ptr, ptr %s.next.p, align 8
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
  %nx.p = getelementptr i8, ptr %ctx, i64 $COUNTS
  %nx = load i64, ptr %nx.p, align 8
  %ny.p = getelementptr i8, ptr %ctx, i64 $COUNTS_Y
  %ny = load i64, ptr %ny.p, align 8
  %nz.p = getelementptr i8, ptr %ctx, i64 $COUNTS_Z
  %nz = load i64, ptr %nz.p, align 8
  %px.p = getelementptr i8, ptr %ctx, i64 $PARTIAL
  %px = load i64, ptr %px.p, align 8
  %py.p = getelementptr i8, ptr %ctx, i64 $PARTIAL_Y
  %py = load i64, ptr %py.p, align 8
  %pz.p = getelementptr i8, ptr %ctx, i64 $PARTIAL_Z
  %pz = load i64, ptr %pz.p, align 8
  %variants.p = getelementptr i8, ptr %ctx, i64 $VARIANTS
  %variants = load ptr, ptr %variants.p, align 8
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
  %worker_x = getelementptr i8, ptr %worker, i64 $WORKER_GROUP
  store i64 %gx, ptr %worker_x, align 8
  %worker_y = getelementptr i8, ptr %worker, i64 $WORKER_GROUP_Y
  store i64 %gy, ptr %worker_y, align 8
  %worker_z = getelementptr i8, ptr %worker, i64 $WORKER_GROUP_Z
  store i64 %gz, ptr %worker_z, align 8
  %slm.p = getelementptr i8, ptr %worker, i64 $WORKER_SLM
  %slm = load ptr, ptr %slm.p, align 8
  %slm_size.p = getelementptr i8, ptr %ctx, i64 $SLM_SIZE
  %slm_size = load i64, ptr %slm_size.p, align 8
  call void @llvm.memset.p0.i64(ptr align 64 %slm, i8 0, i64 %slm_size, i1 false)
$undefined
  %named.p = getelementptr i8, ptr %worker, i64 $WORKER_NAMED
  %named = load ptr, ptr %named.p, align 8
  call void @llvm.memset.p0.i64(ptr align 64 %named, i8 0, i64 $NAMED_SIZE, i1 false)
  %threads.p = getelementptr i8, ptr %variant, i64 $VARIANT_THREADS
  %threads = load i64, ptr %threads.p, align 8
  %live.p = getelementptr i8, ptr %worker, i64 $WORKER_LIVE
  store i64 %threads, ptr %live.p, align 8
  %all.p = getelementptr i8, ptr %worker, i64 $WORKER_COUNT
  store i64 %threads, ptr %all.p, align 8
$no_meeting
  %records.p = getelementptr i8, ptr %worker, i64 $WORKER_RECORDS
  %records = load ptr, ptr %records.p, align 8
  %mine.p = getelementptr i8, ptr %worker, i64 $WORKER_THREAD
  br label %thread
thread:
  %t = phi i64 [ 0, %entry ], [ %t1, %after ]
$thread_order
  %record = getelementptr [$RECORD_SIZE x i8], ptr %records, i64 %t
  call void @llvm.memset.p0.i64(ptr align 64 %record, i8 0, i64 $RECORD_SIZE, i1 false)
  %number.p = getelementptr i8, ptr %record, i64 $RECORD_NUMBER
  store i64 $thread, ptr %number.p, align 8
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
  %threads.p = getelementptr i8, ptr %worker, i64 $WORKER_COUNT
  %threads = load i64, ptr %threads.p, align 8
  %live.p = getelementptr i8, ptr %worker, i64 $WORKER_LIVE
  %records.p = getelementptr i8, ptr %worker, i64 $WORKER_RECORDS
  %records = load ptr, ptr %records.p, align 8
  %mine.p = getelementptr i8, ptr %worker, i64 $WORKER_THREAD
  %named.p = getelementptr i8, ptr %worker, i64 $WORKER_NAMED
  %named = load ptr, ptr %named.p, align 8
  br label %count
count:
  %c = phi i64 [ 0, %entry ], [ %c1, %count ]
  %least = phi i64 [ -1, %entry ], [ %least1, %count ]
  %counted = getelementptr [$RECORD_SIZE x i8], ptr %records, i64 %c
  %arrivals.p = getelementptr i8, ptr %counted, i64 $RECORD_ARRIVALS
  %arrivals = load i64, ptr %arrivals.p, align 8
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
  %current.p = getelementptr i8, ptr %record, i64 $RECORD_CURRENT
  %current = load ptr, ptr %current.p, align 8
  %over = icmp eq ptr %current, null
  br i1 %over, label %next, label %look
look:
  %state.p = getelementptr i8, ptr %record, i64 $RECORD_STATE
  %state = load i64, ptr %state.p, align 8
  switch i64 %state, label %named_one [ i64 $GO_ON, label %go i64 $TURN, label %go i64 $GROUP_BARRIER, label %whole ]
whole:
  %departures.p = getelementptr i8, ptr %record, i64 $RECORD_DEPARTURES
  %departures = load i64, ptr %departures.p, align 8
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
  %ended.p = getelementptr i8, ptr %record, i64 $RECORD_ENDED
  %ended = load ptr, ptr %ended.p, align 8
  %stays = icmp eq ptr %ended, null
  br i1 %stays, label %check, label %free
free:
  %ended_size.p = getelementptr i8, ptr %record, i64 $RECORD_ENDED_SIZE
  %ended_size = load i64, ptr %ended_size.p, align 8
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
  %live.p = getelementptr i8, ptr %w, i64 $WORKER_LIVE
  %live = load i64, ptr %live.p, align 8
  %empty = icmp eq i64 %live, 0
  br i1 %empty, label %skip, label %search
skip:
  %w.next.p = getelementptr i8, ptr %w, i64 $WORKER_NEXT
  %w.next = load ptr, ptr %w.next.p, align 8
  br label %group
search:
  %records.p = getelementptr i8, ptr %w, i64 $WORKER_RECORDS
  %records = load ptr, ptr %records.p, align 8
  br label %look
look:
  %t = phi i64 [ 0, %search ], [ %t1, %look ]
  %record = getelementptr [$RECORD_SIZE x i8], ptr %records, i64 %t
  %current.p = getelementptr i8, ptr %record, i64 $RECORD_CURRENT
  %current = load ptr, ptr %current.p, align 8
  %t1 = add i64 %t, 1
  %over = icmp eq ptr %current, null
  br i1 %over, label %look, label %found
found:
  %site.p = getelementptr i8, ptr %record, i64 $RECORD_SITE
  %site = load i64, ptr %site.p, align 8
  %function = lshr i64 %site, 32
  %instruction = and i64 %site, 4294967295
  %number.p = getelementptr i8, ptr %record, i64 $RECORD_NUMBER
  %number = load i64, ptr %number.p, align 8
$ended
  call void @record_fault(ptr %ctx, ptr %w, i64 $BARRIER, i64 %function, i64 %instruction, $zeros, i64 %number)
  ret void
}

;; arrive
; A thread comes to a named barrier, which opens when as many producers and consumers have come as are wanted: numbers of
; 8 bits; two bits behind them say what this thread is. Arrivals are two numbers of 32 bits in one.
define void @arrive(ptr %worker, ptr %record, i64 %n, i64 %wanted) #1 {
entry:
  %named.p = getelementptr i8, ptr %worker, i64 $WORKER_NAMED
  %named = load ptr, ptr %named.p, align 8
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
  %arena.p = getelementptr i8, ptr %worker, i64 $WORKER_ARENA
  %arena = load ptr, ptr %arena.p, align 8
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
  %end.p = getelementptr i8, ptr %arena, i64 $ARENA_END
  %end = load ptr, ptr %end.p, align 8
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
  %arena.p = getelementptr i8, ptr %worker, i64 $WORKER_ARENA
  %arena = load ptr, ptr %arena.p, align 8
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
  %record.p = getelementptr i8, ptr %worker, i64 $WORKER_THREAD
  %record = load ptr, ptr %record.p, align 8
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
  %ended_size.p = getelementptr i8, ptr %record, i64 $RECORD_ENDED_SIZE
  store i64 %ended_size, ptr %ended_size.p, align 8
  %state.p = getelementptr i8, ptr %record, i64 $RECORD_STATE
  store i64 $GO_ON, ptr %state.p, align 8
