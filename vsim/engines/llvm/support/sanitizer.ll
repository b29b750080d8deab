; What VISAKIT_GUARD puts in front of every access of compiled code (see passes/sanitize.py and observers/sanitizer.py).

;; guard
; The state of the launch: a pointer to the words that watch.py describes.
@guard_state = internal global ptr null

define void @guard_set(ptr %state) #1 {
  store ptr %state, ptr @guard_state, align 8
  ret void
}

; The pointer itself if so many bytes from it on lie in its object (of %room bytes from %base on; 0: not known) or in one of the launch's ranges; else the
; violation is noted, the run told to stop, and the pointer is that of memory that nobody reads.
define ptr @guard_place(ptr %p, i64 %size, i64 %write, ptr %base, i64 %room, i64 %site) #2 {
  %state = load ptr, ptr @guard_state, align 8
  %at = ptrtoint ptr %p to i64
  %nothing = icmp eq i64 %size, 0
  br i1 %nothing, label %good, label %which
which:
  %known = icmp ne i64 %room, 0
  br i1 %known, label %object, label %list
object:
  %object_start = ptrtoint ptr %base to i64
  %object_offset = sub i64 %at, %object_start
  %object_left = sub i64 %room, %size
  %object_large = icmp ule i64 %size, %room
  %object_near = icmp ule i64 %object_offset, %object_left
  %object_inside = and i1 %object_large, %object_near
  br i1 %object_inside, label %good, label %bad
list:
  %count = get i64, %state, $GUARD_COUNT
  %ranges = get ptr, %state, $GUARD_RANGES
  br label %next
next:
  %n = phi i64 [ 0, %list ], [ %n1, %try ]
  %more = icmp ult i64 %n, %count
  br i1 %more, label %try, label %bad
try:
  %start.p = getelementptr [$GUARD_RANGE x i8], ptr %ranges, i64 %n
  %start = load i64, ptr %start.p, align 8
  %length = get i64, %start.p, 8
  %writable = get i64, %start.p, 16
  %offset = sub i64 %at, %start
  %left = sub i64 %length, %size
  %large = icmp ule i64 %size, %length
  %near = icmp ule i64 %offset, %left
  %allowed = icmp ule i64 %write, %writable
  %inside = and i1 %large, %near
  %found = and i1 %inside, %allowed
  %n1 = add i64 %n, 1
  br i1 %found, label %good, label %next
good:
  ret ptr %p
bad:
  %flag.p = getelementptr i8, ptr %state, i64 $GUARD_FLAG
  %earlier = atomicrmw xchg ptr %flag.p, i64 1 monotonic
  %first = icmp eq i64 %earlier, 0
  br i1 %first, label %record, label %leave
record:
  set %state, $GUARD_ADDRESS, %at
  set %state, $GUARD_SIZE, %size
  set %state, $GUARD_WRITE, %write
  set %state, $GUARD_SITE, %site
  br label %leave
leave:
  %context = get ptr, %state, $GUARD_CONTEXT
  %stop.p = getelementptr i8, ptr %context, i64 $STOP
  store volatile i64 1, ptr %stop.p, align 8
  %sink = get ptr, %state, $GUARD_SINK
  ret ptr %sink
}

; Of the lanes in %bits those whose pointers are allowed.
define i64 @guard_lanes(ptr %pointers, i64 %size, i64 %bits, i64 %write, ptr %base, i64 %room, i64 %site) #2 {
entry:
  br label %head
head:
  %left = phi i64 [ %bits, %entry ], [ %rest, %lane ]
  %allowed = phi i64 [ 0, %entry ], [ %more, %lane ]
  %none = icmp eq i64 %left, 0
  br i1 %none, label %done, label %lane
lane:
  %number = call i64 @llvm.cttz.i64(i64 %left, i1 true)
  %less = sub i64 %left, 1
  %rest = and i64 %left, %less
  %pointer.p = getelementptr ptr, ptr %pointers, i64 %number
  %pointer = load ptr, ptr %pointer.p, align 8
  %place = call ptr @guard_place(ptr %pointer, i64 %size, i64 %write, ptr %base, i64 %room, i64 %site) #2
  %good = icmp eq ptr %place, %pointer
  %good64 = zext i1 %good to i64
  %bit = shl i64 %good64, %number
  %more = or i64 %allowed, %bit
  br label %head
done:
  ret i64 %allowed
}
