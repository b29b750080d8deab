; The check of accesses outside arguments: what compiled code calls behind each access by address (see within_arguments.py).

;; outside
; Goes through the active lanes of an access, and reports those outside the argument whose addresses they have: the first one, and how many there are.
; ``lane0`` is the lane of the thread that lane 0 of the access is; -1 where lanes are not those of the thread.
define void @within_arguments(ptr %ctx, ptr %worker, ptr %addresses, $arguments) #2 {
entry:
  %table = get ptr, %ctx, $ARGUMENTS
  %count = get i64, %ctx, $ARGUMENTS_COUNT
  br label %lanes
lanes:
  %left = phi i64 [ %active, %entry ], [ %rest, %next ]
  %times = phi i64 [ 0, %entry ], [ %times.n, %next ]
  %first = phi i64 [ 0, %entry ], [ %first.n, %next ]
  %where = phi i64 [ 0, %entry ], [ %where.n, %next ]
  %none = icmp eq i64 %left, 0
  br i1 %none, label %done, label %lane
lane:
  %number = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %less = sub i64 %left, 1
  %rest = and i64 %left, %less
  %address.p = getelementptr i64, ptr %addresses, i64 %number
  %address = load i64, ptr %address.p, align 8
  %slot = lshr i64 %address, 32
  %known = icmp ult i64 %slot, %count
  br i1 %known, label %look, label %next
look:
  %range = getelementptr [2 x i64], ptr %table, i64 %slot
  %start = load i64, ptr %range, align 8
  %room = get i64, %range, 8
  %offset = sub i64 %address, %start
  %over = add i64 %offset, %size
  %before = icmp ugt i64 %offset, %room
  %behind = icmp ugt i64 %over, %room
  %outside = or i1 %before, %behind
  %new = icmp eq i64 %times, 0
  %times1 = add i64 %times, 1
  %first1 = select i1 %new, i64 %number, i64 %first
  %where1 = select i1 %new, i64 %address, i64 %where
  %times2 = select i1 %outside, i64 %times1, i64 %times
  %first2 = select i1 %outside, i64 %first1, i64 %first
  %where2 = select i1 %outside, i64 %where1, i64 %where
  br label %next
next:
  %times.n = phi i64 [ %times, %lane ], [ %times2, %look ]
  %first.n = phi i64 [ %first, %lane ], [ %first2, %look ]
  %where.n = phi i64 [ %where, %lane ], [ %where2, %look ]
  br label %lanes
done:
  %clean = icmp eq i64 %times, 0
  br i1 %clean, label %leave, label %report
report:
  %whole = icmp slt i64 %lane0, 0
  %lane.of = add i64 %lane0, %first
  %shown = select i1 %whole, i64 -1, i64 %lane.of
  call void @record_finding(ptr %ctx, ptr %worker, i64 %code, i64 %site, i64 %thread, i64 %shown, i64 %epoch, i64 %where, i64 %size, i64 %times) #2
  br label %leave
leave:
  ret void
}
