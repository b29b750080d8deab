; Threads of a pool wait for jobs, and the thread that gave them waits for their end (see host/thread_pool.py).

;; pool
; The life of a member: waits, runs its job, and waits again. The last one of a run says that it is over.
define void @member(ptr %member) {
entry:
  %begin = getelementptr i8, ptr %member, i64 $MEMBER_BEGIN
  %pool.p = getelementptr i8, ptr %member, i64 $MEMBER_POOL
  %pool = load ptr, ptr %pool.p, align 8
  %offset.p = getelementptr i8, ptr %member, i64 $MEMBER_JOB
  %offset = load i64, ptr %offset.p, align 8
  %jobs.p = getelementptr i8, ptr %pool, i64 $POOL_JOBS
  %left.p = getelementptr i8, ptr %pool, i64 $POOL_LEFT
  %ended = getelementptr i8, ptr %pool, i64 $POOL_ENDED
  br label %wait
wait:
  %interrupted = call i32 @sem_wait(ptr %begin)
  %again = icmp ne i32 %interrupted, 0
  br i1 %again, label %wait, label %work
work:
  %jobs = load ptr, ptr %jobs.p, align 8
  call void @work(ptr %jobs, i64 %offset)
  %before = atomicrmw sub ptr %left.p, i64 1 seq_cst
  %last = icmp eq i64 %before, 1
  br i1 %last, label %over, label %wait
over:
  call i32 @sem_post(ptr %ended)
  br label %wait
}

; Does the job at an offset among jobs.
define internal void @work(ptr %jobs, i64 %offset) {
  %job = getelementptr i8, ptr %jobs, i64 %offset
  %context.p = getelementptr i8, ptr %job, i64 $JOB_CONTEXT
  %worker.p = getelementptr i8, ptr %job, i64 $JOB_WORKER
  %code = load ptr, ptr %job, align 8
  %context = load ptr, ptr %context.p, align 8
  %worker = load ptr, ptr %worker.p, align 8
  call void %code(ptr %context, ptr %worker)
  ret void
}

; Gives each of the first members its job, but one (a number of no member for all of them).
define void @begin(ptr %pool, ptr %members, i64 %count, ptr %jobs, i64 %but) {
entry:
  %jobs.p = getelementptr i8, ptr %pool, i64 $POOL_JOBS
  store ptr %jobs, ptr %jobs.p, align 8
  %left.p = getelementptr i8, ptr %pool, i64 $POOL_LEFT
  store atomic i64 %count, ptr %left.p seq_cst, align 8
  br label %next
next:
  %n = phi i64 [ 0, %entry ], [ %n1, %begun ]
  %mine = icmp eq i64 %n, %but
  br i1 %mine, label %begun, label %post
post:
  %member.p = getelementptr ptr, ptr %members, i64 %n
  %member = load ptr, ptr %member.p, align 8
  %begin = getelementptr i8, ptr %member, i64 $MEMBER_BEGIN
  call i32 @sem_post(ptr %begin)
  br label %begun
begun:
  %n1 = add i64 %n, 1
  %more = icmp ult i64 %n1, %count
  br i1 %more, label %next, label %done
done:
  ret void
}

; Waits until no job is left, a signal comes, or it is later than the time (seconds and nanoseconds of the clock; null: no limit). The semaphore says when to
; look; it may have been raised for an earlier run.
define void @await(ptr %pool, ptr %until) {
entry:
  %left.p = getelementptr i8, ptr %pool, i64 $POOL_LEFT
  %ended = getelementptr i8, ptr %pool, i64 $POOL_ENDED
  %always = icmp eq ptr %until, null
  br label %look
look:
  %left = load atomic i64, ptr %left.p seq_cst, align 8
  %over = icmp eq i64 %left, 0
  br i1 %over, label %done, label %choose
choose:
  br i1 %always, label %endlessly, label %limited
endlessly:
  %interrupted = call i32 @sem_wait(ptr %ended)
  br label %woken
limited:
  %late = call i32 @sem_timedwait(ptr %ended, ptr %until)
  br label %woken
woken:
  %why = phi i32 [ %interrupted, %endlessly ], [ %late, %limited ]
  %raised = icmp eq i32 %why, 0
  br i1 %raised, label %look, label %done
done:
  ret void
}

; Both in one call.
define void @run(ptr %pool, ptr %members, i64 %count, ptr %jobs, ptr %until) {
  call void @begin(ptr %pool, ptr %members, i64 %count, ptr %jobs, i64 -1)
  call void @await(ptr %pool, ptr %until)
  ret void
}

; The same, but the calling thread does the job of the member whose processor it is on (of the first one, if it is on none of theirs), and looks for the end of
; the others for a while before it sleeps: a processor that sleeps takes long to wake.
define void @join(ptr %pool, ptr %members, i64 %count, ptr %jobs) {
entry:
  %cpu = call i32 @sched_getcpu()
  br label %search
search:
  %n = phi i64 [ 0, %entry ], [ %n1, %other ]
  %member.p = getelementptr ptr, ptr %members, i64 %n
  %member = load ptr, ptr %member.p, align 8
  %cpu.p = getelementptr i8, ptr %member, i64 $MEMBER_CPU
  %its = load i32, ptr %cpu.p, align 8
  %here = icmp eq i32 %its, %cpu
  br i1 %here, label %found, label %other
other:
  %n1 = add i64 %n, 1
  %more = icmp ult i64 %n1, %count
  br i1 %more, label %search, label %found
found:
  %mine = phi i64 [ %n, %search ], [ 0, %other ]
  call void @begin(ptr %pool, ptr %members, i64 %count, ptr %jobs, i64 %mine)
  %offset = mul i64 %mine, $JOB_SIZE
  call void @work(ptr %jobs, i64 %offset)
  %left.p = getelementptr i8, ptr %pool, i64 $POOL_LEFT
  %before = atomicrmw sub ptr %left.p, i64 1 seq_cst
  br label %look
look:
  %looks = phi i64 [ 0, %found ], [ %looks1, %look ]
  %left = load atomic i64, ptr %left.p seq_cst, align 8
  %looks1 = add i64 %looks, 1
  %over = icmp eq i64 %left, 0
  %late = icmp eq i64 %looks1, $looks
  %enough = or i1 %over, %late
  br i1 %enough, label %sleep, label %look
sleep:
  call void @await(ptr %pool, ptr null)
  ret void
}
