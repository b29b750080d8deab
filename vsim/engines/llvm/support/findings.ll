; What code of launches that checks watch calls when it finds something (see findings.py).

;; record_finding
; Counts what was found at an instruction, and keeps who was first in the order of groups, threads, lanes and epochs. Records are a hash table with linear
; probing; when it is nearly full, what has no record yet is only counted. One worker runs such a launch, so nothing is atomic. Of a code with a bit above 32 each
; other number is a finding of its own.
define void @record_finding(ptr %ctx, ptr %worker, $arguments) #2 {
entry:
  %block = get ptr, %ctx, $FINDINGS
  %mask = get i64, %block, $FINDINGS_MASK
  %records = getelementptr i8, ptr %block, i64 $FINDINGS_RECORDS
  %nx = get i64, %ctx, $COUNTS
  %ny = get i64, %ctx, $COUNTS_Y
  %gx = get i64, %worker, $WORKER_GROUP
  %gy = get i64, %worker, $WORKER_GROUP_Y
  %gz = get i64, %worker, $WORKER_GROUP_Z
  %planes = mul i64 %gz, %ny
  %rows = add i64 %planes, %gy
  %columns = mul i64 %rows, %nx
  %group = add i64 %columns, %gx
  %lane1 = add i64 %lane, 1
  %order.t = shl i64 %thread, 50
  %order.l = shl i64 %lane1, 40
  %order.tl = or i64 %order.t, %order.l
  %order = or i64 %order.tl, %epoch
  %mixed.s = mul i64 %site, -7046029254386353131
  %mixed.c = mul i64 %code, 668265263
  %keyed = lshr i64 %code, 32
  %single = icmp eq i64 %keyed, 0
  %mixed.k = mul i64 %keyed, %other
  %mixed.o = mul i64 %mixed.k, 374761393
  %mixed.sc = xor i64 %mixed.s, %mixed.c
  %mixed = xor i64 %mixed.sc, %mixed.o
  %start = lshr i64 %mixed, 24
  br label %probe
probe:
  %at = phi i64 [ %start, %entry ], [ %at1, %next ]
  %place = and i64 %at, %mask
  %record = getelementptr [$FINDING_SIZE x i8], ptr %records, i64 %place
  %own = get i64, %record, $FINDING_CODE
  %site.p = getelementptr i8, ptr %record, i64 $FINDING_SITE
  %own.site = load i64, ptr %site.p, align 8
  %same.code = icmp eq i64 %own, %code
  %same.site = icmp eq i64 %own.site, %site
  %other.p = getelementptr i8, ptr %record, i64 $FINDING_OTHER
  %own.other = load i64, ptr %other.p, align 8
  %same.other = icmp eq i64 %own.other, %other
  %same.any = or i1 %same.other, %single
  %same.place = and i1 %same.code, %same.site
  %same = and i1 %same.place, %same.any
  br i1 %same, label %known, label %differs
differs:
  %free = icmp eq i64 %own, 0
  br i1 %free, label %insert, label %next
next:
  %at1 = add i64 %at, 1
  br label %probe
insert:
  %used = get i64, %block, $FINDINGS_COUNT
  %limit = get i64, %block, $FINDINGS_LIMIT
  %room = icmp ult i64 %used, %limit
  br i1 %room, label %fresh, label %full
full:
  %left = get i64, %block, $FINDINGS_LEFT_OUT
  %left1 = add i64 %left, %times
  store i64 %left1, ptr %left.p, align 8
  ret void
fresh:
  %used1 = add i64 %used, 1
  store i64 %used1, ptr %used.p, align 8
  store i64 %code, ptr %own.p, align 8
  store i64 %site, ptr %site.p, align 8
  br label %first
known:
  %group.p = getelementptr i8, ptr %record, i64 $FINDING_GROUP
  %own.group = load i64, ptr %group.p, align 8
  %order.p = getelementptr i8, ptr %record, i64 $FINDING_ORDER
  %own.order = load i64, ptr %order.p, align 8
  %group.less = icmp ult i64 %group, %own.group
  %group.same = icmp eq i64 %group, %own.group
  %order.less = icmp ult i64 %order, %own.order
  %within = and i1 %group.same, %order.less
  %earlier = or i1 %group.less, %within
  br i1 %earlier, label %first, label %sum
first:
  set %record, $FINDING_GROUP, %group
  set %record, $FINDING_ORDER, %order
  set %record, $FINDING_THREAD, %thread
  set %record, $FINDING_LANE, %lane
  set %record, $FINDING_EPOCH, %epoch
  set %record, $FINDING_ADDRESS, %address
  set %record, $FINDING_OTHER, %other
  br label %sum
sum:
  %count = get i64, %record, $FINDING_COUNT
  %count1 = add i64 %count, %times
  store i64 %count1, ptr %count.p, align 8
  ret void
}

;; no_epoch
  %epoch.p = getelementptr i8, ptr %worker, i64 $WORKER_EPOCH
  store i64 -1, ptr %epoch.p, align 8
  %count.p = getelementptr i8, ptr %worker, i64 $WORKER_COUNT
  store i64 %threads, ptr %count.p, align 8
$no_meeting

;; next_epoch
; The threads of a group begin with epoch 0, and go on behind a barrier with the next one.
  %epoch = load i64, ptr %epoch.p, align 8
  %epoch1 = add i64 %epoch, 1
  store i64 %epoch1, ptr %epoch.p, align 8

;; no_meeting
  set %worker, $WORKER_MEETING, 0

;; meet
; A thread comes to the barrier of its group. When all have come, those are reported that came to another instruction than thread 0.
define void @meet(ptr %ctx, ptr %worker, i64 %site, i64 %thread) #2 {
entry:
  %count = get i64, %worker, $WORKER_COUNT
  %sites = getelementptr i8, ptr %worker, i64 $WORKER_SITES
  %mine = getelementptr i64, ptr %sites, i64 %thread
  store i64 %site, ptr %mine, align 8
  %met = get i64, %worker, $WORKER_MEETING
  %met1 = add i64 %met, 1
  store i64 %met1, ptr %met.p, align 8
  %rest = urem i64 %met1, %count
  %all = icmp eq i64 %rest, 0
  br i1 %all, label %look, label %done
look:
  %meetings = udiv i64 %met, %count
  %wanted = load i64, ptr %sites, align 8
  br label %next
next:
  %t = phi i64 [ 0, %look ], [ %t1, %more ]
  %other.p = getelementptr i64, ptr %sites, i64 %t
  %other = load i64, ptr %other.p, align 8
  %alike = icmp eq i64 %other, %wanted
  br i1 %alike, label %more, label %report
report:
  call void @record_finding(ptr %ctx, ptr %worker, i64 $code, i64 %other, i64 %t, i64 -1, i64 %meetings, i64 0, i64 %wanted, i64 1)
  br label %more
more:
  %t1 = add i64 %t, 1
  %left = icmp ult i64 %t1, %count
  br i1 %left, label %next, label %done
done:
  ret void
}

;; ended_threads
  %count = get i64, %w, $WORKER_COUNT
  %ended = sub i64 %count, %live
