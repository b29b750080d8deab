; Functions that handle the lanes of an access out of line (see helpers.py).

;; lane_loop
; Goes through the active lanes of an access one by one, behind a vector path if there is one.
define i64 @$name(ptr %ctx, ptr %addresses, ptr %results, i64 %bits, i64 %more$region$sources) $attributes {
  %need = add i64 %more, $size
$table
$vector_path
  br label %begin
begin:
$clear
cleared:
  br label %head
head:
  %left = phi i64 [ %bits, %cleared ], [ %rest, %next ]
  %none = icmp eq i64 %left, 0
  br i1 %none, label %done, label %body
body:
  %lane = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %less = sub i64 %left, 1
  %rest = and i64 %left, %less
  %address.p = getelementptr $index, ptr %addresses, i64 %lane
  %address = load $index, ptr %address.p
  $wide
$buffer
$outside
  br i1 %out, label %bad, label %good
good:
  %p = getelementptr i8, ptr %region, i64 %off
  %rp = getelementptr $ty, ptr %results, i64 %lane
$operands
$act
next:
  br label %head
bad:
  $bad
done:
  ret i64 -1
}

;; elements
; Calls another function for each of several elements of the lanes; the first call checks the bytes of all of them.
define i64 @$name(ptr %ctx, ptr %addresses, ptr %results, i64 %bits, i64 %more$region$sources) $attributes {
begin:
$pairs
  br label %start
start:
  br label %head
head:
  %k = phi i64 [ 0, %start ], [ %k1, %again ]
  %behind = phi i64 [ %more, %start ], [ 0, %again ]
  %distance = mul i64 %k, $stride
  %results.e = getelementptr i8, ptr %results, i64 %distance
$source
  %bad = call i64 @$single(ptr %ctx, ptr %addresses, ptr %results.e, i64 %bits, i64 %behind$region$source_of_element) $call_attributes
  %is_bad = icmp sge i64 %bad, 0
  br i1 %is_bad, label %leave, label %step
leave:
  ret i64 %bad
step:
  %k1 = add i64 %k, 1
  %none = icmp eq i64 %k1, $count
  br i1 %none, label %done, label %lane
lane:
$advance
again:
  br label %head
done:
  ret i64 -1
}

;; pairs
; Lanes at multiples of a pair's size from each other share no pair, so that the order in which they are written is the same.
  %pair = alloca <$twice x $ty>, align 64
  %some = icmp ne i64 %bits, 0
  br i1 %some, label %compare, label %start
compare:
  %mb = $mask_bits
  %m = bitcast i$lanes %mb to <$lanes x i1>
  %va = load <$lanes x $index>, ptr %addresses, align 64
  %f = call i64 @llvm.cttz.i64(i64 %bits, i1 true)
  %fa = extractelement <$lanes x $index> %va, i64 %f
  %fi = insertelement <$lanes x $index> poison, $index %fa, i64 0
  %fv = shufflevector <$lanes x $index> %fi, <$lanes x $index> poison, <$lanes x i32> zeroinitializer
  %differ = xor <$lanes x $index> %va, %fv
  %low = and <$lanes x $index> %differ, $low
  %odd = icmp ne <$lanes x $index> %low, zeroinitializer
  %odd.m = and <$lanes x i1> %odd, %m
  %ob = bitcast <$lanes x i1> %odd.m to i$lanes
  %apart = icmp eq i$lanes %ob, 0
  br i1 %apart, label %in_pairs, label %start
in_pairs:
  %more.p = sub i64 %more, $half
  br label %pair.head
pair.head:
  %kp = phi i64 [ 0, %in_pairs ], [ %kp2, %pair.lane ]
  %behind.p = phi i64 [ %more.p, %in_pairs ], [ 0, %pair.lane ]
  %even.d = mul i64 %kp, $stride
  %even.p = getelementptr i8, ptr %source0, i64 %even.d
  %even = load <$lanes x $ty>, ptr %even.p, align 64
  %odd.p = getelementptr i8, ptr %even.p, i64 $stride
  %odd.v = load <$lanes x $ty>, ptr %odd.p, align 64
  %zipped = shufflevector <$lanes x $ty> %even, <$lanes x $ty> %odd.v, <$twice x i32> $zipped
  store <$twice x $ty> %zipped, ptr %pair, align 64
  %bad.p = call i64 @$double(ptr %ctx, ptr %addresses, ptr %results, i64 %bits, i64 %behind.p$region, ptr %pair)
  %is_bad.p = icmp sge i64 %bad.p, 0
  br i1 %is_bad.p, label %leave.p, label %pair.step
leave.p:
  ret i64 %bad.p
pair.step:
  %kp2 = add i64 %kp, 2
  %none.p = icmp eq i64 %kp2, $count
  br i1 %none.p, label %done, label %pair.lane
pair.lane:
  %address.v = load <$lanes x $index>, ptr %addresses, align 64
  %address2.v = add <$lanes x $index> %address.v, $sizes
  store <$lanes x $index> %address2.v, ptr %addresses, align 64
  br label %pair.head

;; advance_one_by_one
; Vector instructions would end with the upper halves of all vector registers cleared.
  %n = phi i64 [ 0, %step ], [ %n1, %lane ]
  %address.p = getelementptr $index, ptr %addresses, i64 %n
  %address = load $index, ptr %address.p
  %address1 = add $index %address, $size
  store $index %address1, ptr %address.p
  %n1 = add i64 %n, 1
  %lanes = icmp ult i64 %n1, $lanes
  br i1 %lanes, label %lane, label %again

;; advance_vector
; At once: the addresses are loaded as a vector behind that.
  %address = load <$lanes x $index>, ptr %addresses, align 64
  %address1 = add <$lanes x $index> %address, $sizes
  store <$lanes x $index> %address1, ptr %addresses, align 64
  br label %again

;; source_of_element
  %source$k.e = getelementptr i8, ptr %source$k, i64 %distance

;; each_load
; Loads from an offset for each lane, all of which are inside.
define void @$name(ptr %base, ptr %offsets, ptr %results) #2 {
entry:
  br label %head
head:
  %lane = phi i64 [ 0, %entry ], [ %next, %head ]
  %offset.p = getelementptr $index, ptr %offsets, i64 %lane
  %offset = load $index, ptr %offset.p
  $wide
  %p = getelementptr i8, ptr %base, i64 %a
  %value = load $ty, ptr %p, align 1
  %rp = getelementptr $ty, ptr %results, i64 %lane
  store $ty %value, ptr %rp
  %next = add i64 %lane, 1
  %none = icmp eq i64 %next, $lanes
  br i1 %none, label %done, label %head
done:
  ret void
}

;; each_store
; Stores to an offset for each active lane, which is inside.
define void @$name(ptr %base, ptr %offsets, ptr %values, i64 %bits) #2 {
entry:
  br label %head
head:
  %left = phi i64 [ %bits, %entry ], [ %rest, %body ]
  %none = icmp eq i64 %left, 0
  br i1 %none, label %done, label %body
body:
  %lane = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %less = sub i64 %left, 1
  %rest = and i64 %left, %less
  %offset.p = getelementptr $index, ptr %offsets, i64 %lane
  %offset = load $index, ptr %offset.p
  $wide
  %vp = getelementptr $ty, ptr %values, i64 %lane
  %value = load $ty, ptr %vp
  %p = getelementptr i8, ptr %base, i64 %a
  store $ty %value, ptr %p, align 1
  br label %head
done:
  ret void
}

;; block
; Copies what a memory has of a block of %size bytes, and zeros behind that; false if it does not have the first one.
define i1 @$name($arguments, i64 %a, i64 %size, ptr %to) #2 {
  br label %begin
begin:
$table
$buffer
  %in = icmp ult i64 %off, %limit
  br i1 %in, label %head, label %none
head:
  %n = phi i64 [ 0, %begin ], [ %n1, %next ]
  %at = add i64 %off, %n
  %has = icmp ult i64 %at, %limit
  br i1 %has, label %inside, label %next
inside:
  %p = getelementptr i8, ptr %region, i64 %at
  %v = load i8, ptr %p
  br label %next
next:
  %byte = phi i8 [ %v, %inside ], [ 0, %head ]
  %to.p = getelementptr i8, ptr %to, i64 %n
  store i8 %byte, ptr %to.p
  %n1 = add i64 %n, 1
  %more = icmp ult i64 %n1, %size
  br i1 %more, label %head, label %done
done:
  ret i1 true
none:
  ret i1 false
}

;; operand
  %source$k.p = getelementptr $ty, ptr %source$k, i64 %lane
  %s$k = load $ty, ptr %source$k.p

;; table
  %table.p = getelementptr i8, ptr %ctx, i64 $SLOT_TABLE
  %table = load ptr, ptr %table.p
  %count.p = getelementptr i8, ptr %ctx, i64 $SLOT_COUNT
  %count = load i64, ptr %count.p

;; table_for_writes
  %tables.p = getelementptr i8, ptr %ctx, i64 $SLOT_TABLE
  %tables = load ptr, ptr %tables.p
  %count.p = getelementptr i8, ptr %ctx, i64 $SLOT_COUNT
  %count = load i64, ptr %count.p
  %readable = add i64 %count, 1
  %table = getelementptr [$SLOT_ENTRY x i8], ptr %tables, i64 %readable

;; buffer
; The buffer of a flat address: its host pointer, its size (0 where there is none) and the offset in it.
  %${stem}number = lshr i64 $address, 32
  %${stem}slot = call i64 @llvm.umin.i64(i64 %${stem}number, i64 %count)
  %${stem}entry = getelementptr [$SLOT_ENTRY x i8], ptr %table, i64 %${stem}slot
  %${stem}origin = load i64, ptr %${stem}entry
  %${stem}region.p = getelementptr i8, ptr %${stem}entry, i64 8
  %${stem}region = load ptr, ptr %${stem}region.p
  %${stem}limit.p = getelementptr i8, ptr %${stem}entry, i64 16
  %${stem}limit = load i64, ptr %${stem}limit.p
  %${stem}off = sub i64 $address, %${stem}origin

;; outside
; Whether some of %need bytes at %off are not inside.
  %beyond = icmp ugt i64 %off, %limit
  %room = sub i64 %limit, %off
  %short = icmp ult i64 %room, %need
  %out = or i1 %beyond, %short

;; clear_one_by_one
; Vector instructions would end with the upper halves of all vector registers cleared.
  br label %clear
clear:
  %cell = phi i64 [ 0, %begin ], [ %cell1, %clear ]
  %cell.p = getelementptr $ty, ptr %results, i64 %cell
  store $ty 0, ptr %cell.p
  %cell1 = add i64 %cell, 1
  %cells = icmp ult i64 %cell1, $lanes
  br i1 %cells, label %clear, label %cleared

;; clear_vector
  %cell$start.p = getelementptr i8, ptr %results, i64 $start
  store <$width x i8> zeroinitializer, ptr %cell$start.p, align $align

;; mapped
  store $ty 1, ptr %rp
  br label %next

;; load
  %v = load $ty, ptr %p, align 1
  store $ty %v, ptr %rp
  br label %next

;; store
  store $ty %s0, ptr %p, align 1
  br label %next

;; read_modify_write
  %old = atomicrmw $operation ptr %p, $ty $operand monotonic, align $size
  store $ty %old, ptr %rp
  br label %next

;; cmpxchg
  %pair = cmpxchg ptr %p, $ty %s0, $ty %s1 monotonic monotonic, align $size
  %old = extractvalue { $ty, i1 } %pair, 0
  store $ty %old, ptr %rp
  br label %next

;; plain
; An atomic where nobody else comes between.
  %seen = load $ty, ptr %p, align 1
$update
  store $ty %new, ptr %p, align 1
  store $ty %seen, ptr %rp
  br label %next

;; smaller_or_larger
  %k = icmp $order $ty %seen, $operand
  %new = select i1 %k, $ty %seen, $ty $operand

;; compare_exchange
  %k = icmp eq $ty %seen, %s0
  %new = select i1 %k, $ty %s1, $ty %seen

;; as_floats
  %x = bitcast $ty %seen to $real
  %y = bitcast $ty %s0 to $real

;; float_loop
; An atomic on floats: tried until nobody else came between.
  %start = load atomic $ty, ptr %p monotonic, align $size
  br label %again
again:
  %seen = phi $ty [ %start, %good ], [ %old, %again ]
$floats
$update
  %pair = cmpxchg ptr %p, $ty %seen, $ty %new monotonic monotonic, align $size
  %old = extractvalue { $ty, i1 } %pair, 0
  %ok = extractvalue { $ty, i1 } %pair, 1
  br i1 %ok, label %written, label %again
written:
  store $ty %old, ptr %rp
  br label %next

;; fmax
  %g = fcmp ogt $real %x, %y
  %n = fcmp uno $real %y, %y
  %k = or i1 %g, %n
  %new = select i1 %k, $ty %seen, $ty %s0

;; fmin
  %g = fcmp olt $real %x, %y
  %n = fcmp uno $real %y, %y
  %k = or i1 %g, %n
  %new = select i1 %k, $ty %seen, $ty %s0

;; fadd
  %t = fadd $real %x, %y
  %new = bitcast $real %t to $ty

;; fsub
  %t = fsub $real %x, %y
  %new = bitcast $real %t to $ty

;; as_bfloats
  %x.w = zext i16 %seen to i32
  %x.s = shl i32 %x.w, 16
  %x = bitcast i32 %x.s to float
  %y.w = zext i16 %s0 to i32
  %y.s = shl i32 %y.w, 16
  %y = bitcast i32 %y.s to float

;; bfadd
; Rounded to nearest even on the bits; a NaN stays one.
  %t = fadd float %x, %y
  %t.b = bitcast float %t to i32
  %t.s = lshr i32 %t.b, 16
  %t.o = and i32 %t.s, 1
  %t.h = add i32 %t.o, 32767
  %t.r = add i32 %t.b, %t.h
  %t.c = lshr i32 %t.r, 16
  %t.q = or i32 %t.s, 64
  %t.n = fcmp uno float %t, %t
  %t.v = select i1 %t.n, i32 %t.q, i32 %t.c
  %new = trunc i32 %t.v to i16

;; bfsub
  %t = fsub float %x, %y
  %t.b = bitcast float %t to i32
  %t.s = lshr i32 %t.b, 16
  %t.o = and i32 %t.s, 1
  %t.h = add i32 %t.o, 32767
  %t.r = add i32 %t.b, %t.h
  %t.c = lshr i32 %t.r, 16
  %t.q = or i32 %t.s, 64
  %t.n = fcmp uno float %t, %t
  %t.v = select i1 %t.n, i32 %t.q, i32 %t.c
  %new = trunc i32 %t.v to i16

;; fcmpwr
  %k = fcmp oeq $real %x, %y
  %new = select i1 %k, $ty %s1, $ty %seen

;; vector_path
; All lanes at once, where all of them are inside the buffer of the first one; else on to %slow.
  %mb = $mask_bits
  %m = bitcast i$lanes %mb to <$lanes x i1>
  %va = load <$lanes x $index>, ptr %addresses, align 64
  $wide
$offsets
  %small = icmp ult i64 $bound, %need
  %highest = sub i64 $bound, %need
$highest
  %vout = icmp ugt <$lanes x i64> %vo, %vl
  %vbad = and <$lanes x i1> %vout, %m
  %bb = bitcast <$lanes x i1> %vbad to i$lanes
  %anybad = icmp ne i$lanes %bb, 0
  %go = or i1 %anybad, %small
  br i1 %go, label %slow, label %together
together:
  %all = icmp eq i$lanes %mb, -1
  br i1 %all, label %whole, label %masked
whole:
$whole
masked:
$masked
slow:

;; masked
; Some lanes are inside: a row from the first one on, or parts of the lanes, of which those without an active one are left out.
  %pf.i = call i64 @llvm.cttz.i64(i64 %bits, i1 false)
  %pf = call i64 @llvm.umin.i64(i64 %pf.i, i64 $last)
  %pfo = extractelement <$lanes x i64> %vo, i64 %pf
  %pfd = mul i64 %pf, $size
  %pbo = sub i64 %pfo, %pfd
$begin
  %pfollows = add <$lanes x i64> %pb, $distances
  %psame = icmp eq <$lanes x i64> %vo, %pfollows
  %pnot = xor <$lanes x i1> %m, $ones
  %pfits = or <$lanes x i1> %psame, %pnot
  %pfb = bitcast <$lanes x i1> %pfits to i$lanes
  %prow = icmp eq i$lanes %pfb, -1
  br i1 %prow, label %in_row, label %in_parts
in_row:
  %pp = getelementptr i8, ptr $where, i64 %pbo
$row
  ret i64 -1
in_parts:
  br label %part0
$parts
part$lanes:
  ret i64 -1

;; part
part$first:
  %part$first.m = shufflevector <$lanes x i1> %m, <$lanes x i1> poison, <$part x i32> $columns
  %part$first.b = bitcast <$part x i1> %part$first.m to i$part
  %part$first.n = icmp eq i$part %part$first.b, 0
  %part$first.at = getelementptr $ty, ptr $memory, i64 $first
  br i1 %part$first.n, label %no_part$first, label %some_part$first
some_part$first:
  %part$first.o = shufflevector <$lanes x i64> %vo, <$lanes x i64> poison, <$part x i32> $columns
  %part$first.p = getelementptr i8, ptr $where, <$part x i64> %part$first.o
$act
  br label %part$next
no_part$first:
$nothing
  br label %part$next

;; splat
  %$to.i = insertelement <$lanes x i64> poison, i64 $value, i64 0
  %$to = shufflevector <$lanes x i64> %$to.i, <$lanes x i64> poison, <$lanes x i32> zeroinitializer

;; whole
; All lanes are active and inside: rows of them, one place of all, or each lane; processors gather no faster than that.
  %bases = shufflevector <$lanes x i64> %vo, <$lanes x i64> poison, <$lanes x i32> $firsts
  %follows = add <$lanes x i64> %bases, $distances
  %same = icmp eq <$lanes x i64> %vo, %follows
  %sb = bitcast <$lanes x i1> %same to i$lanes
  %rows = icmp eq i$lanes %sb, -1
  br i1 %rows, label %in_rows, label %apart
in_rows:
$move_rows
  ret i64 -1
apart:
$share
  %base = getelementptr i8, ptr $where, i64 $start
$move_lanes
  ret i64 -1

;; share
  %ones = shufflevector <$lanes x i64> %vo, <$lanes x i64> poison, <$lanes x i32> zeroinitializer
  %alike = icmp eq <$lanes x i64> %vo, %ones
  %ab = bitcast <$lanes x i1> %alike to i$lanes
  %shared = icmp eq i$lanes %ab, -1
  br i1 %shared, label %shares, label %differ
shares:
  %s.o = extractelement <$lanes x i64> %vo, i64 0
  %s.p = getelementptr i8, ptr $where, i64 %s.o
  %s = load $ty, ptr %s.p, align 1
  %s.i = insertelement <$lanes x $ty> poison, $ty %s, i64 0
  %s.v = shufflevector <$lanes x $ty> %s.i, <$lanes x $ty> poison, <$lanes x i32> zeroinitializer
  store <$lanes x $ty> %s.v, ptr %results, align 64
  ret i64 -1
differ:

;; row_place
  %row$first.o = extractelement <$lanes x i64> %vo, i64 $first
  %row$first.p = getelementptr i8, ptr $where, i64 %row$first.o

;; row_load
  %row$first = load <$row x $ty>, ptr %row$first.p, align 1

;; row_result
  %$value.to = getelementptr $ty, ptr %results, i64 $first
  store <$row x $ty> %$value, ptr %$value.to, align $align

;; row_store
  %from$first.p = getelementptr $ty, ptr %source0, i64 $first
  %row$first = load <$row x $ty>, ptr %from$first.p, align $align
  store <$row x $ty> %row$first, ptr %row$first.p, align 1

;; lane_place
  %at$lane.p = getelementptr $index, ptr %addresses, i64 $lane
  %at$lane = load $index, ptr %at$lane.p
  $wide
  %lane$lane.p = getelementptr i8, ptr %base, i64 %wide$lane

;; lane_load
  %lane$lane = load $ty, ptr %lane$lane.p, align 1
  %with$lane = insertelement <$row x $ty> $before, $ty %lane$lane, i64 $column

;; lane_store
  %given$lane.p = getelementptr $ty, ptr %source0, i64 $lane
  %lane$lane = load $ty, ptr %given$lane.p
  store $ty %lane$lane, ptr %lane$lane.p, align 1

;; flat_offsets
  %f = call i64 @llvm.cttz.i64(i64 %bits, i1 true)
  %fa = extractelement <$lanes x i64> %vw, i64 %f
$buffer
$base
  %vo = sub <$lanes x i64> %vw, %vb
  %before = sub i64 0, %forigin

;; region_offsets
  %vo = or <$lanes x i64> %vw, zeroinitializer

;; vector_load
  %$vector = $call
  store <$lanes x $ty> %$vector, ptr $memory, align $align

;; vector_zeros
  store <$lanes x $ty> zeroinitializer, ptr $memory, align $align

;; vector_store
  %$vector = load <$lanes x $ty>, ptr $memory, align $align
  $call

;; row
; For lanes whose elements follow each other: where lane 0's is or would be, if the active lanes are inside.
define { i64, ptr } @$name($arguments, $index %base, i64 %bits) #2 {
  %nobody = icmp eq i64 %bits, 0
  br i1 %nobody, label %empty, label %some
empty:
  ret { i64, ptr } { i64 -1, ptr null }
some:
  %first = call i64 @llvm.cttz.i64(i64 %bits, i1 true)
  %behind = call i64 @llvm.ctlz.i64(i64 %bits, i1 true)
  %last = sub i64 63, %behind
  %distance = sub i64 %last, %first
  %lanes = add i64 %distance, 1
  %need = mul i64 %lanes, $size
  %back = mul i64 %first, $size
  %skipped = $skipped
  %sum = add $index %base, %skipped
  %held = and $index %sum, $mask
  $wide
$table
$buffer
$outside
  br i1 %out, label %bad, label %good
bad:
  %whole = udiv i64 %room, $size
  %inside = select i1 %beyond, i64 0, i64 %whole
  %from = add i64 %first, %inside
  %ahead = shl i64 -1, %from
  %others = and i64 %bits, %ahead
  %lane = call i64 @llvm.cttz.i64(i64 %others, i1 false)
  %further = sub i64 %lane, %first
  %further_bytes = mul i64 %further, $size
  %there = add i64 %a, %further_bytes
  %address = inttoptr i64 %there to ptr
  %b0 = insertvalue { i64, ptr } poison, i64 %lane, 0
  %b1 = insertvalue { i64, ptr } %b0, ptr %address, 1
  ret { i64, ptr } %b1
good:
  %lane0 = sub i64 %off, %back
  %p = getelementptr i8, ptr %region, i64 %lane0
  %g1 = insertvalue { i64, ptr } { i64 -1, ptr poison }, ptr %p, 1
  ret { i64, ptr } %g1
}

;; widened
; Addresses from what was widened on the way to them. %shape: number of lanes, number of the first one, lanes in a row, stride within it, from bits 0,
; 8, 16 and 32 on.
define void @$name(ptr %addresses, i64 %base, i64 %factor, $narrow %low, $narrow %jump, i64 %shape) #2 {
entry:
  %count = and i64 %shape, 255
  %shape1 = lshr i64 %shape, 8
  %start = and i64 %shape1, 255
  %shape2 = lshr i64 %shape, 16
  %row = and i64 %shape2, 65535
  %step = ashr i64 %shape, 32
  %narrow_step = trunc i64 %step to $narrow
  %low_wide = $extend $narrow %low to i64
  %jump_wide = $extend $narrow %jump to i64
  %start_row = udiv i64 %start, %row
  %start_column = urem i64 %start, %row
  %start_down = mul i64 %start_row, %jump_wide
  %start_along = mul i64 %start_column, %step
  %start_sum = add i64 %start_down, %start_along
  br label %lane
lane:
  %n = phi i64 [ 0, %entry ], [ %n1, %lane ]
  %number = add i64 %start, %n
  %r = udiv i64 %number, %row
  %c = urem i64 %number, %row
  %r_narrow = trunc i64 %r to $narrow
  %c_narrow = trunc i64 %c to $narrow
  %down = mul $narrow %r_narrow, %jump
  %along = mul $narrow %c_narrow, %narrow_step
  %sum0 = add $narrow %low, %down
  %sum = add $narrow %sum0, %along
  %wide = $extend $narrow %sum to i64
  %from_low = sub i64 %wide, %low_wide
  %from_start = sub i64 %from_low, %start_sum
  %scaled = mul i64 %from_start, %factor
  %address = add i64 %base, %scaled
  %place = getelementptr i64, ptr %addresses, i64 %n
  store i64 %address, ptr %place, align 8
  %n1 = add i64 %n, 1
  %more = icmp ult i64 %n1, %count
  br i1 %more, label %lane, label %done
done:
  ret void
}

;; first_outside
define i64 @first_outside(i64 %lane, i64 %address, i64 %size, i64 %step) #2 {
  %left = sub i64 %size, %address
  %inside = udiv i64 %left, %step
  %begins = icmp ult i64 %address, %size
  %behind = select i1 %begins, i64 %inside, i64 0
  %found = add i64 %lane, %behind
  ret i64 %found
}
