; The race check: what compiled code calls where the summaries of some memory say that somebody may race, or with the accesses to record (see race.py).

;; helper
; Goes through the active lanes of an access, and the units of memory that each of them touches. ``base`` is where offsets count from in the host's memory,
; null for addresses of the flat space.
define void @$name(ptr %ctx, ptr %base, ptr %offsets, i64 %bits, i64 %size, $arguments) #2 {
entry:
  %race = get ptr, %ctx, $RACE
$fields
  %is_flat = icmp eq ptr %base, null
$begin
  br label %lanes
lanes:
  %left = phi i64 [ %bits, %entry ], [ %rest, %next ]
  %none = icmp eq i64 %left, 0
  br i1 %none, label %done, label %lane
lane:
  %number = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %less = sub i64 %left, 1
  %rest = and i64 %left, %less
  %offset.p = getelementptr i64, ptr %offsets, i64 %number
  %offset = load i64, ptr %offset.p, align 8
  br i1 %is_flat, label %flat, label %based
flat:
  %slot = lshr i64 %offset, 32
  %table = get ptr, %ctx, $SLOT_TABLE
  %entry.p = getelementptr [$SLOT_ENTRY x i8], ptr %table, i64 %slot
  %start = load i64, ptr %entry.p, align 8
  %host = get ptr, %entry.p, 8
  %inside = sub i64 %offset, %start
  %place.f = getelementptr i8, ptr %host, i64 %inside
  br label %found
based:
  %place.b = getelementptr i8, ptr %base, i64 %offset
  br label %found
found:
  %place = phi ptr [ %place.f, %flat ], [ %place.b, %based ]
  %address = ptrtoint ptr %place to i64
  %low = and i64 %address, %mask
  %last = add i64 %low, %size
  %last1 = sub i64 %last, 1
  %unit0 = lshr i64 %low, %unit_bits
  %unit9 = lshr i64 %last1, %unit_bits
  br label %unit
unit:
  %u = phi i64 [ %unit0, %found ], [ %u1, %after ]
  %u1 = add i64 %u, 1
  %mark.a = add i64 %marks, %u
  %mark.p = inttoptr i64 %mark.a to ptr
  %mark = load i8, ptr %mark.p, align 1
$act
after:
  %more = icmp ule i64 %u1, %unit9
  br i1 %more, label %unit, label %next.0
next.0:
$ends
next:
  br label %lanes
done:
  ret void
}

;; fields
  %words = get i64, %race, $RACE_WORDS
  %marks = get i64, %race, $RACE_MARKS
  %mask = get i64, %race, $RACE_MASK
  %first_id = get i64, %race, $RACE_FIRST_ID
  %span = get i64, %race, $RACE_SPAN
  %shift = get i64, %race, $RACE_SHIFT
  %epochs = get i64, %race, $RACE_EPOCHS
  %flags = get i64, %race, $RACE_FLAGS
  %half = get i64, %race, $RACE_HALF
  %all_id = get i64, %race, $RACE_ALL_ID
  %list = get i64, %race, $RACE_LIST
  %list_size = get i64, %race, $RACE_LIST_SIZE
  %sequence = get i64, %race, $RACE_SEQUENCE
  %atomics = get i64, %race, $RACE_ATOMICS
  %window = get i64, %race, $RACE_WINDOW
  %window_size = get i64, %race, $RACE_WINDOW_SIZE
  %steps = get i64, %race, $RACE_STEPS

;; who
  %me.l = mul i64 %number, %id_step
  %me.i = add i64 %me.w, %me.l
  %me = trunc i64 %me.i to i32
  %base_id = trunc i64 %first_id to i32
  %span32 = trunc i64 %span to i32
  %shift32 = trunc i64 %shift to i32
  %epochs32 = trunc i64 %epochs to i32
  %flags32 = trunc i64 %flags to i32
  %flag.u = shl i32 -1, %flags32
  %flag.m = xor i32 %flag.u, -1
  %count.m = lshr i32 %epochs32, %flags32
  %half32 = trunc i64 %half to i32
  %all_id32 = trunc i64 %all_id to i32
  %rank = sub i32 %me, %base_id
  %within = urem i32 %rank, %span32
  %group_id = sub i32 %me, %within
  %my_epoch = and i32 %me, %epochs32
  %waits32 = trunc i64 %waits to i32
  %is_split = icmp ne i32 %half32, 0
  %is_global = icmp eq i64 %local, 0
  %slots = lshr i32 %span32, %shift32
  %last_slot = sub i32 %slots, 1
  %many.s = shl i32 %last_slot, %shift32
  %many = add i32 %group_id, %many.s

;; check
; Units of global memory outside the window have no words.
  %at.u = shl i64 %u, %unit_bits
  %at.w = sub i64 %at.u, %window
  %in.window = icmp ult i64 %at.w, %window_size
  %not.global = xor i1 %is_global, true
  %watched = or i1 %in.window, %not.global
  br i1 %watched, label %look, label %after
look:
  %word.o = shl i64 %u, 2
  %word.a = add i64 %words, %word.o
  %word.p = inttoptr i64 %word.a to ptr
  %x = load i32, ptr %word.p, align 4
; Whose the access is that the word stands for: nobody's of this launch, that of another group, of one that comes before
; (``earlier``), of another thread of the group that does not (``peer``), or the thread's own.
  %x.new = icmp uge i32 %x, %base_id
  %x.d = xor i32 %x, %me
  %x.h = lshr i32 %x.d, %shift32
  %x.own = icmp eq i32 %x.h, 0
  %x.other = xor i1 %x.own, true
  %x.rel = sub i32 %x, %group_id
  %x.in.w = icmp ult i32 %x.rel, %span32
  %x.in = and i1 %x.in.w, %x.new
  %x.in.n = xor i1 %x.in, true
  %x.out.n = and i1 %x.new, %x.in.n
  %x.out = and i1 %x.out.n, %is_global
  %x.e = and i32 %x, %epochs32
  %x.de = and i32 %x.d, %epochs32
  %x.differs = icmp ne i32 %x.de, 0
  %x.s = lshr i32 %x.e, %flags32
  %ahead = sub i32 %x.s, %waits32
  %ahead.h = and i32 %ahead, %half32
  %before.s = icmp ne i32 %ahead.h, 0
  %carried = and i1 %x.own, %x.differs
  %earlier.s = or i1 %before.s, %carried
  %earlier.w = select i1 %is_split, i1 %earlier.s, i1 %x.differs
  %earlier = and i1 %x.in, %earlier.w
  %earlier.n = xor i1 %earlier, true
  %now = and i1 %x.in, %earlier.n
  %peer = and i1 %now, %x.other
  %own = and i1 %now, %x.own
; What it was, as flags have it (race.py): for the group, and for others.
  %f = and i32 %x, %flag.m
  %f.kind = and i32 %f, 5
  %not.reads = icmp ne i32 %f.kind, 0
  %not.atomics = icmp ne i32 %f.kind, 4
  %not.reads.g = icmp ne i32 %f, 0
  %not.atomics.g = icmp ne i32 %f, 4
; Something else that was an epoch before is open for threads that have not gone on to the newest.
  %f.behind = and i32 %f, 8
  %has.behind = icmp ne i32 %f.behind, 0
  %ahead.m = and i32 %ahead, %count.m
  %is.ahead = icmp ne i32 %ahead.m, 0
  %open = and i1 %has.behind, %is.ahead
  %reads.inside = or i1 %not.reads, %open
  %atomics.inside = or i1 %not.atomics, %open
  %behind.1 = add i32 %ahead, 1
  %behind.m = and i32 %behind.1, %count.m
  %is.next = icmp eq i32 %behind.m, 0
  %is.near.s = or i1 %is.next, %carried
  %is.near = and i1 %is.near.s, %is_split
  %kept.behind = select i1 %carried, i32 %f.behind, i32 0
  %x.ahead = sub i32 %x.e, %my_epoch
  %x.ahead.c = lshr i32 %x.ahead, %flags32
  %x.ahead.h = and i32 %x.ahead.c, %half32
  %x.later = icmp eq i32 %x.ahead.h, 0
  %later = select i1 %x.later, i32 %x.e, i32 %my_epoch
  %epoch = select i1 %is_split, i32 %later, i32 %my_epoch
  %many.e = or i32 %many, %epoch
  %f.rest = and i32 %f, 10
  %many.f = or i32 %many.e, %f.rest
  %mine = or i32 %me, 1
  switch i64 %kind, label %lost [ i64 0, label %reading i64 1, label %writing i64 2, label %changing ]
reading:
  %r.out = and i1 %x.out, %not.reads.g
  %r.peer = and i1 %peer, %reads.inside
  %r.bad = or i1 %r.out, %r.peer
  %r.atomic = lshr i32 %f, 2
  %r.atomic1 = and i32 %r.atomic, 1
  %r.own = or i32 %x, %r.atomic1
  %r.mixed = select i1 %not.reads.g, i32 2, i32 0
  %r.hides = and i1 %is.near, %not.reads
  %r.behind = select i1 %r.hides, i32 8, i32 %kept.behind
  %r.rest = or i32 %r.mixed, %r.behind
  %r.earlier = or i32 %me, %r.rest
  %r.1 = select i1 %x.out, i32 %all_id32, i32 %me
  %r.2 = select i1 %earlier, i32 %r.earlier, i32 %r.1
  %r.3 = select i1 %peer, i32 %many.f, i32 %r.2
  %r.4 = select i1 %own, i32 %r.own, i32 %r.3
  br label %judged
writing:
  %w.bad = or i1 %x.out, %peer
  br label %judged
changing:
  %a.out = and i1 %x.out, %not.atomics.g
  %a.peer = and i1 %peer, %atomics.inside
  %a.bad = or i1 %a.out, %a.peer
  %a.own.m = zext i1 %not.atomics to i32
  %a.own = or i32 %x, %a.own.m
  %a.mixed = select i1 %not.atomics.g, i32 2, i32 0
  %a.hides = and i1 %is.near, %not.atomics
  %a.behind = select i1 %a.hides, i32 8, i32 %kept.behind
  %a.rest = or i32 %a.mixed, %a.behind
  %a.me = or i32 %me, 4
  %a.all = or i32 %all_id32, 4
  %a.many = or i32 %many.f, 4
  %a.earlier = or i32 %a.me, %a.rest
  %a.1 = select i1 %x.out, i32 %a.all, i32 %a.me
  %a.2 = select i1 %earlier, i32 %a.earlier, i32 %a.1
  %a.3 = select i1 %peer, i32 %a.many, i32 %a.2
  %a.4 = select i1 %own, i32 %a.own, i32 %a.3
  br label %judged
judged:
  %is.bad = phi i1 [ %r.bad, %reading ], [ %w.bad, %writing ], [ %a.bad, %changing ]
  %well = phi i32 [ %r.4, %reading ], [ %mine, %writing ], [ %a.4, %changing ]
; Of a unit that is suspicious the word only says that it is written.
  %word = select i1 %is.bad, i32 %mine, i32 %well
  store i32 %word, ptr %word.p, align 4
  br i1 %is.bad, label %bad, label %after
lost:
  br label %bad
bad:
  %known = icmp ne i8 %mark, 0
  br i1 %known, label %after, label %fresh_mark
fresh_mark:
  %part.a = or i64 %low, %size
  %part.m = shl i64 -1, %unit_bits
  %part.n = xor i64 %part.m, -1
  %part = and i64 %part.a, %part.n
  %narrow = get i64, %race, $RACE_NARROW
  %narrow1 = or i64 %narrow, %part
  store i64 %narrow1, ptr %narrow.p, align 8
  %count = get i64, %race, $RACE_COUNT
  %count1 = add i64 %count, 1
  store i64 %count1, ptr %count.p, align 8
  set %race, $RACE_UNIT_BITS, %unit_bits
  %room = icmp ult i64 %count, %list_size
  br i1 %room, label %list_it, label %after
list_it:
; Marks without a place in the list would say nothing, and take memory.
  store i8 1, ptr %mark.p, align 1
  %list.b = inttoptr i64 %list to ptr
  %entry.l = getelementptr i64, ptr %list.b, i64 %count
  store i64 %u, ptr %entry.l, align 8
  br label %after

;; no_ends
  br label %next

;; begin_log
  %sequence1 = add i64 %sequence, 1
  store i64 %sequence1, ptr %sequence.p, align 8
  %is_atomic = icmp eq i64 %kind, 2
  %orders = icmp ne i64 %atomics, 0
  %always = and i1 %is_atomic, %orders

;; log
  %marked = icmp ne i8 %mark, 0
  %wanted = or i1 %marked, %always
  br i1 %wanted, label %write, label %after

;; ends_of_log
  br label %next
write:
  %count = get i64, %race, $RACE_COUNT
  %count1 = add i64 %count, 1
  store i64 %count1, ptr %count.p, align 8
  %room = icmp ult i64 %count, %list_size
  br i1 %room, label %record, label %next
record:
  %list.b = inttoptr i64 %list to ptr
  %record.p = getelementptr [$RECORD_BYTES x i8], ptr %list.b, i64 %count
  %shown = sub i64 %address, %local
  %is_local = icmp ne i64 %local, 0
  %space = zext i1 %is_local to i64
  %lane.n = add i64 %lane0, %number
  %has_lane = icmp ult i64 %lane0, 255
  %lane.k = select i1 %has_lane, i64 %lane.n, i64 255
  %bit.s = lshr i64 %lost, %number
  %bit = and i64 %bit.s, 1
  %lost.b = select i1 %is_atomic, i64 0, i64 %bit
  %looks = select i1 %is_atomic, i64 %bit, i64 0
  %kind.k = add i64 %kind, %looks
  %lane.s = and i64 %lane.k, 63
  %item = shl i64 1, %lane.s
  %has_items = icmp ne i64 %items, 0
  %items.k = select i1 %has_items, i64 %items, i64 %item
$stores
  br label %next

;; who_of_record
  %me = trunc i64 %me.w to i32
  %base_id = trunc i64 %first_id to i32
  %span32 = trunc i64 %span to i32
  %shift32 = trunc i64 %shift to i32
  %rank = sub i32 %me, %base_id
  %group32 = udiv i32 %rank, %span32
  %within = urem i32 %rank, %span32
  %thread32 = lshr i32 %within, %shift32
  %group = zext i32 %group32 to i64
  %thread = zext i32 %thread32 to i64
  %steps.b = inttoptr i64 %steps to ptr
  %slot.r = lshr i32 %rank, %shift32
  %slot.n = zext i32 %slot.r to i64
  %step.p = getelementptr i32, ptr %steps.b, i64 %slot.n
  %step.v = load i32, ptr %step.p, align 4
  %step = zext i32 %step.v to i64
  %function = lshr i64 %site, 32
  %instruction = and i64 %site, 4294967295

;; store
  %$name.t = $narrow
  %$name.s = getelementptr i8, ptr %record.p, i64 $offset
  store $ty %$name.t, ptr %$name.s, align 1

;; event
; Records a fence, or a thread at a named barrier.
define void @race_event(ptr %ctx, $arguments) #2 {
entry:
  %race = get ptr, %ctx, $RACE
$fields
  %sequence1 = add i64 %sequence, 1
  store i64 %sequence1, ptr %sequence.p, align 8
$who
  %count = get i64, %race, $RACE_COUNT
  %count1 = add i64 %count, 1
  store i64 %count1, ptr %count.p, align 8
  %room = icmp ult i64 %count, %list_size
  br i1 %room, label %record, label %done
record:
  %list.b = inttoptr i64 %list to ptr
  %record.p = getelementptr [$RECORD_BYTES x i8], ptr %list.b, i64 %count
$stores
  br label %done
done:
  ret void
}

;; ordered
; Counts that a thread has ordered its work-items, so many times.
define void @race_ordered(ptr %ctx, i64 %me.w, i64 %times) #2 {
entry:
  %race = get ptr, %ctx, $RACE
$fields
  %rank = sub i64 %me.w, %first_id
  %slot = lshr i64 %rank, %shift
  %steps.b = inttoptr i64 %steps to ptr
  %step.p = getelementptr i32, ptr %steps.b, i64 %slot
  %step = load i32, ptr %step.p, align 4
  %times32 = trunc i64 %times to i32
  %step1 = add i32 %step, %times32
  store i32 %step1, ptr %step.p, align 4
  ret void
}
