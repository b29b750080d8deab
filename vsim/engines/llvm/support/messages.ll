; Counts of messages to memory: what compiled code calls behind each access of lanes (see messages.py).
; ``how`` has the bytes of a lane, the kind of the access, whether the message has several accesses, its lanes, and the bits of addresses.

;; bytes
; Adds what some lanes have read and written to the counts of a memory.
define internal void @message_bytes(ptr %memory, i64 %lanes, i64 %how) #1 {
entry:
  %size = and i64 %how, 65535
  %moved = mul i64 %lanes, %size
  %kind.s = lshr i64 %how, $MESSAGE_KIND
  %kind = and i64 %kind.s, 3
  %is_write = icmp eq i64 %kind, 1
  %is_read = icmp eq i64 %kind, 0
  %reads = select i1 %is_write, i64 0, i64 %moved
  %writes = select i1 %is_read, i64 0, i64 %moved
  %is_atomic = icmp eq i64 %kind, 2
  %acts = select i1 %is_atomic, i64 %lanes, i64 0
  increase %memory, $MEMORY_READ, %reads
  increase %memory, $MEMORY_WRITTEN, %writes
  increase %memory, $MEMORY_ATOMICS, %acts
  ret void
}

;; touch
; Notes the use of a line: how many other uses of lines were between it and the one before.
  %t.last.p = getelementptr i64, ptr %$last, i64 %$line
  %t.before = load i64, ptr %t.last.p, align 8
  store i64 %time.n, ptr %t.last.p, align 8
  %t.again = icmp ne i64 %t.before, 0
  br i1 %t.again, label %t.counts, label %$next
t.counts:
  %t.distance = sub i64 %time.n, %t.before
  %t.less = sub i64 %t.distance, 1
  %t.zeros = call i64 @llvm.ctlz.i64(i64 %t.less, i1 false)
  %t.power = sub i64 64, %t.zeros
  %t.reuse = getelementptr i8, ptr %$memory, i64 $MEMORY_REUSE
  %t.reuse.p = getelementptr i64, ptr %t.reuse, i64 %t.power
  %t.reuse.o = load i64, ptr %t.reuse.p, align 8
  %t.reuse.n = add i64 %t.reuse.o, 1
  store i64 %t.reuse.n, ptr %t.reuse.p, align 8
  br label %$next

;; row
; Lanes at a constant distance: those without bytes between them are counted here, others one by one.
; Active lanes are inside of their memory, but inactive ones in front of them may have wrapped around.
; ``memory`` is null for addresses of the flat space.
define void @message_row(ptr %block, ptr %site, ptr %memory, i64 %address, i64 %stride, i64 %bits, i64 %how) #1 {
entry:
  %none = icmp eq i64 %bits, 0
  br i1 %none, label %leave, label %some
leave:
  ret void
some:
  %size = and i64 %how, 65535
  %skipped = call i64 @llvm.cttz.i64(i64 %bits, i1 true)
  %active = lshr i64 %bits, %skipped
  %count = call i64 @llvm.ctpop.i64(i64 %bits)
  %behind = add i64 %active, 1
  %gaps = and i64 %behind, %active
  %is_run = icmp eq i64 %gaps, 0
  %is_dense = icmp ule i64 %stride, %size
  %is_row = and i1 %is_dense, %is_run
  %is_one = icmp eq i64 %stride, 0
  %alone = icmp eq i64 %count, 1
  %follows = or i1 %is_row, %is_one
  %atomic.b = and i64 %how, $MESSAGE_ATOMIC
  %plain = icmp eq i64 %atomic.b, 0
  %follows.1 = or i1 %follows, %alone
  %quick = and i1 %follows.1, %plain
  %width.s = lshr i64 %how, $MESSAGE_WIDTH
  %width.n = sub i64 64, %width.s
  %width = lshr i64 -1, %width.n
  br i1 %quick, label %row, label %expand
expand:
  %buffer = getelementptr i8, ptr %block, i64 $MESSAGES_ADDRESSES
  %lanes.s = lshr i64 %how, $MESSAGE_LANES
  %lanes = and i64 %lanes.s, 255
  br label %fill
fill:
  %n = phi i64 [ 0, %expand ], [ %n1, %fill ]
  %place = phi i64 [ %address, %expand ], [ %place1, %fill ]
  %place.p = getelementptr i64, ptr %buffer, i64 %n
  store i64 %place, ptr %place.p, align 8
  %place.w = add i64 %place, %stride
  %place1 = and i64 %place.w, %width
  %n1 = add i64 %n, 1
  %more = icmp ult i64 %n1, %lanes
  br i1 %more, label %fill, label %filled
filled:
  call void @message_lanes(ptr %block, ptr %site, ptr %memory, ptr %buffer, i64 %bits, i64 %how)
  ret void
row:
  %before = mul i64 %skipped, %stride
  %first.w = add i64 %address, %before
  %first = and i64 %first.w, %width
  %is_flat = icmp eq ptr %memory, null
  br i1 %is_flat, label %flat, label %known
flat:
  %slots = get ptr, %block, $MESSAGES_SLOTS
  %slot = lshr i64 %first, 32
  %own.p = getelementptr [$MESSAGES_SLOT x i8], ptr %slots, i64 %slot
  %own.f = load ptr, ptr %own.p, align 8
  %begins = get i64, %own.p, 8
  %offset.f = sub i64 %first, %begins
  br label %known
known:
  %own = phi ptr [ %memory, %row ], [ %own.f, %flat ]
  %offset = phi i64 [ %first, %row ], [ %offset.f, %flat ]
  %moved = mul i64 %count, %size
  %others = sub i64 %count, 1
  %distance = mul i64 %others, %stride
  %total = add i64 %distance, %size
  %kind.s = lshr i64 %how, $MESSAGE_KIND
  %kind = and i64 %kind.s, 3
  %is_read = icmp eq i64 %kind, 0
  %read_or_written = select i1 %is_read, i64 $MEMORY_READ, i64 $MEMORY_WRITTEN
  increase %own, %read_or_written, %moved
  %of_site = select i1 %is_read, i64 $SITE_READ, i64 $SITE_WRITTEN
  increase %site, %of_site, %moved
  %seen = get i64, %block, $MESSAGES_SEEN
  %collects = and i64 %how, $MESSAGE_COLLECTS
  %is_part = icmp ne i64 %collects, 0
  %is_first = icmp eq i64 %seen, 0
  br i1 %is_first, label %message, label %counted
message:
  store i64 %collects, ptr %seen.p, align 8
  increase %site, $SITE_MESSAGES, 1
  %varies.b = and i64 %how, $MESSAGE_VARIES
  %varies = icmp ne i64 %varies.b, 0
  %differs.1 = xor i1 %alone, true
  %differs = and i1 %varies, %differs.1
  br i1 %differs, label %strided, label %constant
strided:
  %stride.k = ptrtoint ptr %site to i64
  %values = getelementptr i8, ptr %block, i64 $MESSAGES_VALUES
  call void @count_value(ptr %values, i64 %stride.k, i64 %stride)
  br label %counted
constant:
  %stride.a = select i1 %alone, i64 $SITE_ALONE, i64 $SITE_ROWS
  %stride.p = getelementptr i8, ptr %site, i64 %stride.a
  %stride.o = load i64, ptr %stride.p, align 8
  %stride.n = add i64 %stride.o, 1
  store i64 %stride.n, ptr %stride.p, align 8
  set %site, $SITE_ROW, %stride
  br label %counted
counted:
  %what = get i64, %own, $MEMORY_KIND
  %last_byte.1 = add i64 %offset, %total
  %last_byte = sub i64 %last_byte.1, 1
  switch i64 %what, label %leave [ i64 $MEMORY_LINED, label %lined i64 $MEMORY_BANKED, label %banked ]
banked:
  %word0 = lshr i64 %offset, 2
  %word9 = lshr i64 %last_byte, 2
  %words = sub i64 %word9, %word0
  %words16 = add i64 %words, 16
  %turns = lshr i64 %words16, 4
  increase %site, $SITE_PASSES, %turns
  increase %site, $SITE_FEWEST, %turns
  ret void
lined:
  br i1 %is_part, label %later, label %now
later:
  %intervals = get ptr, %block, $MESSAGES_INTERVALS
  %collected = get i64, %block, $MESSAGES_COLLECTED
  %interval = getelementptr [16 x i8], ptr %intervals, i64 %collected
  %base = get i64, %own, $MEMORY_BASE
  %begin = add i64 %base, %offset
  store i64 %begin, ptr %interval, align 8
  %end = add i64 %begin, %total
  set %interval, 8, %end
  %collected.n = add i64 %collected, 1
  store i64 %collected.n, ptr %collected.p, align 8
  ret void
now:
  %line0 = lshr i64 %offset, 6
  %line9 = lshr i64 %last_byte, 6
  %lines.1 = sub i64 %line9, %line0
  %lines = add i64 %lines.1, 1
  %total63 = add i64 %total, 63
  %needed = lshr i64 %total63, 6
  %is_more = icmp ugt i64 %lines, %needed
  %is_unaligned = zext i1 %is_more to i64
  increase %site, $SITE_LINES, %lines
  increase %own, $MEMORY_LINES, %lines
  increase %site, $SITE_USED, %total
  increase %site, $SITE_UNALIGNED, %is_unaligned
  %time = get i64, %block, $MESSAGES_TIME
  %last = get ptr, %own, $MEMORY_LAST
  br label %line
line:
  %line.n = phi i64 [ %line0, %now ], [ %line.m, %next ]
  %time.o = phi i64 [ %time, %now ], [ %time.n, %next ]
  %time.n = add i64 %time.o, 1
$touch
next:
  %line.m = add i64 %line.n, 1
  %line.more = icmp ule i64 %line.m, %line9
  br i1 %line.more, label %line, label %timed
timed:
  store i64 %time.n, ptr %time.p, align 8
  ret void
}

;; lanes
; Lanes anywhere: lanes without bytes between them are counted as a row; the bytes of others become intervals of places, sorted by where they
; begin.
define void @message_lanes(ptr %block, ptr %site, ptr %memory, ptr %addresses, i64 %bits, i64 %how) #1 {
entry:
  %none = icmp eq i64 %bits, 0
  br i1 %none, label %leave, label %start
leave:
  ret void
start:
  %size = and i64 %how, 65535
  %skipped = call i64 @llvm.cttz.i64(i64 %bits, i1 true)
  %active = lshr i64 %bits, %skipped
  %count = call i64 @llvm.ctpop.i64(i64 %bits)
  %behind = add i64 %active, 1
  %gaps = and i64 %behind, %active
  %is_run = icmp eq i64 %gaps, 0
  %are_several = icmp ugt i64 %count, 1
  %atomic.b = and i64 %how, $MESSAGE_ATOMIC
  %plain = icmp eq i64 %atomic.b, 0
  %may.1 = and i1 %is_run, %are_several
  %may = and i1 %may.1, %plain
  br i1 %may, label %compare, label %some
compare:
  %run = getelementptr i64, ptr %addresses, i64 %skipped
  %run0 = load i64, ptr %run, align 8
  %run1.p = getelementptr i64, ptr %run, i64 1
  %run1 = load i64, ptr %run1.p, align 8
  %distance = sub i64 %run1, %run0
  %is_dense = icmp ule i64 %distance, %size
  br i1 %is_dense, label %follows, label %some
follows:
  %f.n = phi i64 [ 1, %compare ], [ %f.n1, %f.next ]
  %f.o = phi i64 [ %run1, %compare ], [ %f.address, %f.next ]
  %f.n1 = add i64 %f.n, 1
  %f.more = icmp ult i64 %f.n1, %count
  br i1 %f.more, label %further, label %row
further:
  %f.p = getelementptr i64, ptr %run, i64 %f.n1
  %f.address = load i64, ptr %f.p, align 8
  %f.distance = sub i64 %f.address, %f.o
  %f.equal = icmp eq i64 %f.distance, %distance
  br i1 %f.equal, label %f.next, label %some
f.next:
  br label %follows
row:
  %before = mul i64 %skipped, %distance
  %row.first = sub i64 %run0, %before
  %row.how = or i64 %how, $MESSAGE_AS_ROW
  call void @message_row(ptr %block, ptr %site, ptr %memory, i64 %row.first, i64 %distance, i64 %bits, i64 %row.how)
  ret void
some:
  %kind.s = lshr i64 %how, $MESSAGE_KIND
  %kind = and i64 %kind.s, 3
  %is_flat = icmp eq ptr %memory, null
  %values = getelementptr i8, ptr %block, i64 $MESSAGES_VALUES
  %slots = get ptr, %block, $MESSAGES_SLOTS
  %intervals = get ptr, %block, $MESSAGES_INTERVALS
  %collected = get i64, %block, $MESSAGES_COLLECTED
  %seen = get i64, %block, $MESSAGES_SEEN
  %who = get i64, %block, $MESSAGES_WHO
  %begin = getelementptr [16 x i8], ptr %intervals, i64 %collected
  br label %lane
lane:
  %left = phi i64 [ %bits, %some ], [ %rest, %next ]
  %n = phi i64 [ 0, %some ], [ %n1, %next ]
  %own.o = phi ptr [ null, %some ], [ %own, %next ]
  %since = phi i64 [ 0, %some ], [ %since.n, %next ]
  %address.o = phi i64 [ 0, %some ], [ %address, %next ]
  %place.o = phi i64 [ 0, %some ], [ %place, %next ]
  %step.o = phi i64 [ 0, %some ], [ %step.n, %next ]
  %regular.o = phi i1 [ true, %some ], [ %regular, %next ]
  %sorted.o = phi i1 [ true, %some ], [ %sorted, %next ]
  %number = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %less = sub i64 %left, 1
  %rest = and i64 %left, %less
  %address.p = getelementptr i64, ptr %addresses, i64 %number
  %address = load i64, ptr %address.p, align 8
  br i1 %is_flat, label %flat, label %known
flat:
  %slot = lshr i64 %address, 32
  %own.p = getelementptr [$MESSAGES_SLOT x i8], ptr %slots, i64 %slot
  %own.f = load ptr, ptr %own.p, align 8
  %begins = get i64, %own.p, 8
  %offset.f = sub i64 %address, %begins
  br label %known
known:
  %own = phi ptr [ %memory, %lane ], [ %own.f, %flat ]
  %offset = phi i64 [ %address, %lane ], [ %offset.f, %flat ]
  %differs = icmp ne ptr %own, %own.o
  br i1 %differs, label %another, label %next
another:
  %was = sub i64 %n, %since
  %is_first.n = icmp eq i64 %n, 0
  br i1 %is_first.n, label %next, label %flush
flush:
  call void @message_bytes(ptr %own.o, i64 %was, i64 %how)
  br label %next
next:
  %since.n = phi i64 [ %since, %known ], [ 0, %another ], [ %n, %flush ]
  %base = get i64, %own, $MEMORY_BASE
  %place = add i64 %base, %offset
  %ends = add i64 %place, %size
  %interval = getelementptr [16 x i8], ptr %begin, i64 %n
  store i64 %place, ptr %interval, align 8
  set %interval, 8, %ends
  %step = sub i64 %address, %address.o
  %is_start = icmp ult i64 %n, 2
  %step.n = select i1 %is_start, i64 %step, i64 %step.o
  %equal = icmp eq i64 %step, %step.n
  %regular = and i1 %regular.o, %equal
  %ascends = icmp uge i64 %place, %place.o
  %sorted = and i1 %sorted.o, %ascends
  %n1 = add i64 %n, 1
  %over = icmp eq i64 %rest, 0
  br i1 %over, label %known_all, label %lane
known_all:
  %were = sub i64 %n1, %since.n
  call void @message_bytes(ptr %own, i64 %were, i64 %how)
  %moved = mul i64 %n1, %size
  %is_write = icmp eq i64 %kind, 1
  %is_read = icmp eq i64 %kind, 0
  %is_atomic = icmp eq i64 %kind, 2
  %reads = select i1 %is_write, i64 0, i64 %moved
  %writes = select i1 %is_read, i64 0, i64 %moved
  increase %site, $SITE_READ, %reads
  increase %site, $SITE_WRITTEN, %writes
  %is_first = icmp eq i64 %seen, 0
  br i1 %is_first, label %message, label %order
message:
  increase %site, $SITE_MESSAGES, 1
  %collects.b = and i64 %how, $MESSAGE_COLLECTS
  store i64 %collects.b, ptr %seen.p, align 8
  %alone = icmp eq i64 %n1, 1
  %has_stride = xor i1 %alone, true
  %counted.1 = and i1 %has_stride, %regular
  br i1 %counted.1, label %strided, label %unstrided
strided:
  %stride.k = ptrtoint ptr %site to i64
  call void @count_value(ptr %values, i64 %stride.k, i64 %step.n)
  br label %order
unstrided:
  %stride.a = select i1 %alone, i64 $SITE_ALONE, i64 $SITE_IRREGULAR
  %stride.p = getelementptr i8, ptr %site, i64 %stride.a
  %stride.o = load i64, ptr %stride.p, align 8
  %stride.n = add i64 %stride.o, 1
  store i64 %stride.n, ptr %stride.p, align 8
  br label %order
order:
  br i1 %sorted, label %ordered, label %sort
sort:
  call void @message_sort(ptr %begin, i64 %n1)
  br label %ordered
ordered:
  %what = get i64, %own, $MEMORY_KIND
  br i1 %is_atomic, label %atomics, label %places
atomics:
  increase %site, $SITE_ATOMICS, %n1
  br label %turn
turn:
  %a.n = phi i64 [ 0, %atomics ], [ %a.n1, %turned ]
  %a.before = phi i64 [ -1, %atomics ], [ %a.place, %turned ]
  %a.run.o = phi i64 [ 0, %atomics ], [ %a.run, %turned ]
  %a.most.o = phi i64 [ 0, %atomics ], [ %a.most, %turned ]
  %a.p = getelementptr [16 x i8], ptr %begin, i64 %a.n
  %a.place = load i64, ptr %a.p, align 8
  %a.same = icmp eq i64 %a.place, %a.before
  %a.run.1 = add i64 %a.run.o, 1
  %a.run = select i1 %a.same, i64 %a.run.1, i64 1
  %a.longer = icmp ugt i64 %a.run, %a.most.o
  %a.most = select i1 %a.longer, i64 %a.run, i64 %a.most.o
  %a.offset = and i64 %a.place, $MESSAGE_OFFSET
  %a.shared = icmp eq i64 %what, $MEMORY_LINED
  %a.private = add i64 %a.offset, %who
  %a.where = select i1 %a.shared, i64 %a.place, i64 %a.private
  %a.key.1 = ptrtoint ptr %site to i64
  %a.key = or i64 %a.key.1, 1
  call void @count_value(ptr %values, i64 %a.key, i64 %a.where)
  br label %turned
turned:
  %a.n1 = add i64 %a.n, 1
  %a.more = icmp ult i64 %a.n1, %n1
  br i1 %a.more, label %turn, label %serial
serial:
  increase %site, $SITE_SERIAL, %a.most
  br label %places
places:
  switch i64 %what, label %leave [ i64 $MEMORY_LINED, label %lined i64 $MEMORY_BANKED, label %banked ]
lined:
  %collects.c = and i64 %how, $MESSAGE_COLLECTS
  %is_one = icmp eq i64 %collects.c, 0
  br i1 %is_one, label %now, label %later
now:
  call void @message_lines(ptr %block, ptr %site, ptr %begin, i64 %n1)
  ret void
later:
  %collected.n = add i64 %collected, %n1
  store i64 %collected.n, ptr %collected.p, align 8
  ret void
banked:
  call void @message_banks(ptr %block, ptr %site, ptr %begin, i64 %n1)
  ret void
}

;; sort
; Sorts intervals by where they begin: nearly all are in place.
define internal void @message_sort(ptr %begin, i64 %count) #1 {
entry:
  br label %outer
outer:
  %i = phi i64 [ 1, %entry ], [ %i1, %placed ]
  %more = icmp ult i64 %i, %count
  br i1 %more, label %take, label %done
take:
  %from = getelementptr [16 x i8], ptr %begin, i64 %i
  %start = load i64, ptr %from, align 8
  %end = get i64, %from, 8
  br label %inner
inner:
  %j = phi i64 [ %i, %take ], [ %j1, %shift ]
  %is_front = icmp eq i64 %j, 0
  br i1 %is_front, label %placed, label %compare
compare:
  %j1 = sub i64 %j, 1
  %other = getelementptr [16 x i8], ptr %begin, i64 %j1
  %start.o = load i64, ptr %other, align 8
  %larger = icmp ugt i64 %start.o, %start
  br i1 %larger, label %shift, label %placed
shift:
  %end.o = get i64, %other, 8
  %to = getelementptr [16 x i8], ptr %begin, i64 %j
  store i64 %start.o, ptr %to, align 8
  set %to, 8, %end.o
  br label %inner
placed:
  %at = getelementptr [16 x i8], ptr %begin, i64 %j
  store i64 %start, ptr %at, align 8
  set %at, 8, %end
  %i1 = add i64 %i, 1
  br label %outer
done:
  ret void
}

;; lines
; The lines that sorted intervals touch, each once, and the bytes of them that are used.
define internal void @message_lines(ptr %block, ptr %site, ptr %begin, i64 %count) #1 {
entry:
  %memories = get ptr, %block, $MESSAGES_MEMORIES
  %time = get i64, %block, $MESSAGES_TIME
  %origin = load i64, ptr %begin, align 8
  br label %interval
interval:
  %n = phi i64 [ 0, %entry ], [ %n1, %next ]
  %used.o = phi i64 [ 0, %entry ], [ %used, %next ]
  %reached.o = phi i64 [ 0, %entry ], [ %reached, %next ]
  %line.free = phi i64 [ 0, %entry ], [ %free, %next ]
  %lines.o = phi i64 [ 0, %entry ], [ %lines, %next ]
  %time.i = phi i64 [ %time, %entry ], [ %time.e, %next ]
  %start.p = getelementptr [16 x i8], ptr %begin, i64 %n
  %start = load i64, ptr %start.p, align 8
  %end = get i64, %start.p, 8
  %is_later = icmp ugt i64 %start, %reached.o
  %from = select i1 %is_later, i64 %start, i64 %reached.o
  %is_new = icmp ugt i64 %end, %from
  %fresh.1 = sub i64 %end, %from
  %fresh = select i1 %is_new, i64 %fresh.1, i64 0
  %used = add i64 %used.o, %fresh
  %is_further = icmp ugt i64 %end, %reached.o
  %reached = select i1 %is_further, i64 %end, i64 %reached.o
  %line.s = lshr i64 %start, 6
  %last = sub i64 %end, 1
  %line9 = lshr i64 %last, 6
  %is_ahead = icmp ugt i64 %line.free, %line.s
  %line0 = select i1 %is_ahead, i64 %line.free, i64 %line.s
  %has_any = icmp ule i64 %line0, %line9
  br i1 %has_any, label %touched, label %next
touched:
  %number = lshr i64 %start, $MESSAGE_OFFSET_BITS
  %memory.d = mul i64 %number, $MEMORY_SIZE
  %memory = getelementptr i8, ptr %memories, i64 %memory.d
  %last.a = getelementptr i8, ptr %memory, i64 $MEMORY_LAST
  %last.t = load ptr, ptr %last.a, align 8
  %fresh_lines.1 = sub i64 %line9, %line0
  %fresh_lines = add i64 %fresh_lines.1, 1
  %lines.n = add i64 %lines.o, %fresh_lines
  %line.1 = add i64 %line9, 1
  increase %memory, $MEMORY_LINES, %fresh_lines
  br label %line
line:
  %line.n = phi i64 [ %line0, %touched ], [ %line.m, %after ]
  %time.o = phi i64 [ %time.i, %touched ], [ %time.n, %after ]
  %time.n = add i64 %time.o, 1
  %line.own = and i64 %line.n, $MESSAGE_LINE
$touch
after:
  %line.m = add i64 %line.n, 1
  %line.more = icmp ule i64 %line.m, %line9
  br i1 %line.more, label %line, label %next
next:
  %free = phi i64 [ %line.free, %interval ], [ %line.1, %after ]
  %lines = phi i64 [ %lines.o, %interval ], [ %lines.n, %after ]
  %time.e = phi i64 [ %time.i, %interval ], [ %time.n, %after ]
  %n1 = add i64 %n, 1
  %more = icmp ult i64 %n1, %count
  br i1 %more, label %interval, label %done
done:
  store i64 %time.e, ptr %time.p, align 8
  %span = sub i64 %reached, %origin
  %is_row = icmp eq i64 %span, %used
  %used63 = add i64 %used, 63
  %needed = lshr i64 %used63, 6
  %is_more = icmp ugt i64 %lines, %needed
  %is_unaligned.1 = and i1 %is_row, %is_more
  %is_unaligned = zext i1 %is_unaligned.1 to i64
  increase %site, $SITE_LINES, %lines
  increase %site, $SITE_USED, %used
  increase %site, $SITE_UNALIGNED, %is_unaligned
  ret void
}

;; banks
; The turns of local memory's banks that sorted intervals take, and the fewest for so many dwords.
define internal void @message_banks(ptr %block, ptr %site, ptr %begin, i64 %count) #1 {
entry:
  %banks = getelementptr i8, ptr %block, i64 $MESSAGES_BANKS
$clear
  br label %interval
interval:
  %n = phi i64 [ 0, %entry ], [ %n1, %next ]
  %free = phi i64 [ 0, %entry ], [ %free.n, %next ]
  %words.o = phi i64 [ 0, %entry ], [ %words, %next ]
  %most.o = phi i64 [ 0, %entry ], [ %most, %next ]
  %start.p = getelementptr [16 x i8], ptr %begin, i64 %n
  %start = load i64, ptr %start.p, align 8
  %end = get i64, %start.p, 8
  %word.s = lshr i64 %start, 2
  %last = sub i64 %end, 1
  %word9 = lshr i64 %last, 2
  %is_ahead = icmp ugt i64 %free, %word.s
  %word0 = select i1 %is_ahead, i64 %free, i64 %word.s
  %has_any = icmp ule i64 %word0, %word9
  br i1 %has_any, label %word, label %next
word:
  %word.n = phi i64 [ %word0, %interval ], [ %word.m, %word ]
  %words.w = phi i64 [ %words.o, %interval ], [ %words.w1, %word ]
  %most.w = phi i64 [ %most.o, %interval ], [ %most.w1, %word ]
  %bank = and i64 %word.n, 15
  %bank.p = getelementptr i64, ptr %banks, i64 %bank
  %turns.o = load i64, ptr %bank.p, align 8
  %turns = add i64 %turns.o, 1
  store i64 %turns, ptr %bank.p, align 8
  %longer = icmp ugt i64 %turns, %most.w
  %most.w1 = select i1 %longer, i64 %turns, i64 %most.w
  %words.w1 = add i64 %words.w, 1
  %word.m = add i64 %word.n, 1
  %word.more = icmp ule i64 %word.m, %word9
  br i1 %word.more, label %word, label %next
next:
  %free.n = phi i64 [ %free, %interval ], [ %word.m, %word ]
  %words = phi i64 [ %words.o, %interval ], [ %words.w1, %word ]
  %most = phi i64 [ %most.o, %interval ], [ %most.w1, %word ]
  %n1 = add i64 %n, 1
  %more = icmp ult i64 %n1, %count
  br i1 %more, label %interval, label %done
done:
  %words15 = add i64 %words, 15
  %fewest = lshr i64 %words15, 4
  increase %site, $SITE_PASSES, %most
  increase %site, $SITE_FEWEST, %fewest
  ret void
}

;; end
; The end of a message with several accesses.
define void @message_end(ptr %block, ptr %site) #1 {
entry:
  %intervals = get ptr, %block, $MESSAGES_INTERVALS
  %collected = get i64, %block, $MESSAGES_COLLECTED
  %seen = get i64, %block, $MESSAGES_SEEN
  store i64 0, ptr %seen.p, align 8
  store i64 0, ptr %collected.p, align 8
  %none = icmp eq i64 %collected, 0
  br i1 %none, label %done, label %some
some:
  call void @message_sort(ptr %intervals, i64 %collected)
  call void @message_lines(ptr %block, ptr %site, ptr %intervals, i64 %collected)
  br label %done
done:
  ret void
}
