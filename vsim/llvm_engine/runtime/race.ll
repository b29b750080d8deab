; The race check: what compiled code calls where the summaries of some memory say that somebody may race, or with the accesses to record (see race.py).

;; helper
; Goes through the active lanes of an access, and the units of memory that each of them touches. ``base`` is where offsets count from in the host's memory,
; null for addresses of the flat space.
define void @$name(ptr %ctx, ptr %base, ptr %offsets, i64 %bits, i64 %size, $arguments) #2 {
entry:
  %race.p = getelementptr i8, ptr %ctx, i64 $RACE
  %race = load ptr, ptr %race.p, align 8
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
  %table.p = getelementptr i8, ptr %ctx, i64 $SLOT_TABLE
  %table = load ptr, ptr %table.p, align 8
  %entry.p = getelementptr [$SLOT_ENTRY x i8], ptr %table, i64 %slot
  %start = load i64, ptr %entry.p, align 8
  %host.p = getelementptr i8, ptr %entry.p, i64 8
  %host = load ptr, ptr %host.p, align 8
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

;; field
  %$name.p = getelementptr i8, ptr %race, i64 $offset
  %$name = load i64, ptr %$name.p, align 8

;; who
  %me = trunc i64 %me.w to i32
  %base_id = trunc i64 %first_id to i32
  %span32 = trunc i64 %span to i32
  %shift32 = trunc i64 %shift to i32
  %epochs32 = trunc i64 %epochs to i32
  %flags32 = trunc i64 %flags to i32
  %half32 = trunc i64 %half to i32
  %all_id32 = trunc i64 %all_id to i32
  %rank = sub i32 %me, %base_id
  %within = urem i32 %rank, %span32
  %group_id = sub i32 %me, %within
  %my_epoch = and i32 %me, %epochs32
  %my_count = lshr i32 %my_epoch, %flags32
  %waits32 = trunc i64 %waits to i32
  %is_split = icmp ne i32 %half32, 0
  %is_global = icmp eq i64 %local, 0
  %slots = lshr i32 %span32, %shift32
  %last_slot = sub i32 %slots, 1
  %many.s = shl i32 %last_slot, %shift32
  %many = add i32 %group_id, %many.s

;; conflict
; Whether the access that a word stands for conflicts with this one, if their kinds do: of another thread, and not before it by a barrier.
  %${n}new = icmp uge i32 %$x, %base_id
  %${n}d = xor i32 %$x, %me
  %${n}h = lshr i32 %${n}d, %shift32
  %${n}other = icmp ne i32 %${n}h, 0
  %${n}rel = sub i32 %$x, %group_id
  %${n}in.w = icmp ult i32 %${n}rel, %span32
  %${n}in = and i1 %${n}in.w, %${n}new
  %${n}e = and i32 %${n}d, %epochs32
  %${n}before.p = icmp ne i32 %${n}e, 0
  %${n}x.e = and i32 %$x, %epochs32
  %${n}x.s = lshr i32 %${n}x.e, %flags32
  %${n}ahead = sub i32 %${n}x.s, %waits32
  %${n}behind = and i32 %${n}ahead, %half32
  %${n}before.s = icmp ne i32 %${n}behind, 0
  %${n}before.b = select i1 %is_split, i1 %${n}before.s, i1 %${n}before.p
  %${n}ordered = and i1 %${n}in, %${n}before.b
  %${n}free = xor i1 %${n}ordered, true
  %${n}seen = or i1 %${n}in, %is_global
  %${n}c1 = and i1 %${n}new, %${n}other
  %${n}c2 = and i1 %${n}c1, %${n}free
  %${n}conflict = and i1 %${n}c2, %${n}seen
  %${n}apart = sub i32 %${n}x.s, %my_count
  %${n}apart.h = and i32 %${n}apart, %half32
  %${n}apart.n = icmp eq i32 %${n}apart.h, 0
  %${n}later = select i1 %${n}apart.n, i32 %${n}x.e, i32 %my_epoch
  %${n}epoch = select i1 %is_split, i32 %${n}later, i32 %my_epoch
  %${n}many = or i32 %many, %${n}epoch

;; check
; Units of global memory outside the window have no words.
  %at.u = shl i64 %u, %unit_bits
  %at.w = sub i64 %at.u, %window
  %in.window = icmp ult i64 %at.w, %window_size
  %not.global = xor i1 %is_global, true
  %watched = or i1 %in.window, %not.global
  br i1 %watched, label %words, label %after
words:
  %word.o = shl i64 %u, 2
  %write.a = add i64 %writes, %word.o
  %write.p = inttoptr i64 %write.a to ptr
  %x = load i32, ptr %write.p, align 4
  %read.a = add i64 %reads, %word.o
  %read.p = inttoptr i64 %read.a to ptr
  %y = load i32, ptr %read.p, align 4
$conflict_x
$conflict_y
  switch i64 %kind, label %lost [ i64 0, label %reading i64 1, label %writing i64 2, label %changing ]
reading:
  %new_read.m = select i1 %y.in, i32 %y.many, i32 %all_id32
  %new_read = select i1 %y.conflict, i32 %new_read.m, i32 %me
  store i32 %new_read, ptr %read.p, align 4
  br i1 %x.conflict, label %bad, label %after
writing:
  store i32 %me, ptr %write.p, align 4
  %either = or i1 %x.conflict, %y.conflict
  br i1 %either, label %bad, label %after
changing:
; The low bits of a word: 0 a plain write, 1 an atomic, 2 an atomic behind plain writes of the group in earlier epochs, 3 behind one in the same epoch.
  %was = and i32 %x, 3
  %was_plain = icmp eq i32 %was, 0
  %was_mixed = icmp eq i32 %was, 3
  %was_after = icmp eq i32 %was, 2
  %outside = xor i1 %x.in, true
  %after_out = and i1 %was_after, %outside
  %plain_or = or i1 %was_plain, %was_mixed
  %matters = or i1 %plain_or, %after_out
  %x.bad = and i1 %x.conflict, %matters
  %bad.a = or i1 %x.bad, %y.conflict
  %e.same = icmp eq i32 %x.e, %my_epoch
  %e.now = or i1 %e.same, %is_split
  %plain.bits = select i1 %e.now, i32 3, i32 2
  %flag.bits = select i1 %plain_or, i32 %plain.bits, i32 %was
  %mine = or i32 %me, %flag.bits
  %many.a = or i32 %x.many, %flag.bits
  %every.bits = select i1 %plain_or, i32 3, i32 %was
  %all.a = or i32 %all_id32, %every.bits
  %fresh = or i32 %me, 1
  %shared.g = select i1 %is_global, i32 %all.a, i32 %fresh
  %many_plain = select i1 %was_plain, i32 %mine, i32 %many.a
  %in.many = select i1 %x.conflict, i32 %many_plain, i32 %mine
  %in.new = select i1 %x.in, i32 %in.many, i32 %shared.g
  %changed = select i1 %x.new, i32 %in.new, i32 %fresh
  store i32 %changed, ptr %write.p, align 4
  br i1 %bad.a, label %bad, label %after
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
  %narrow.p = getelementptr i8, ptr %race, i64 $RACE_NARROW
  %narrow = load i64, ptr %narrow.p, align 8
  %narrow1 = or i64 %narrow, %part
  store i64 %narrow1, ptr %narrow.p, align 8
  %count.p = getelementptr i8, ptr %race, i64 $RACE_COUNT
  %count = load i64, ptr %count.p, align 8
  %count1 = add i64 %count, 1
  store i64 %count1, ptr %count.p, align 8
  %bits.p = getelementptr i8, ptr %race, i64 $RACE_UNIT_BITS
  store i64 %unit_bits, ptr %bits.p, align 8
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
  %count.p = getelementptr i8, ptr %race, i64 $RACE_COUNT
  %count = load i64, ptr %count.p, align 8
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
  %race.p = getelementptr i8, ptr %ctx, i64 $RACE
  %race = load ptr, ptr %race.p, align 8
$fields
  %sequence1 = add i64 %sequence, 1
  store i64 %sequence1, ptr %sequence.p, align 8
$who
  %count.p = getelementptr i8, ptr %race, i64 $RACE_COUNT
  %count = load i64, ptr %count.p, align 8
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
