; Threads of a pool wait for jobs, and the thread that gave them waits for their end (see host/thread_pool.py).

;; pool
; The life of a member: waits, runs its job, and waits again. Its state is 0: it sleeps, and who changes that raises the semaphore; 1: it has run a job, and looks for
; the next one for a while; 2: it has a job. The last one of a run says that it is over, or the one on the processor where the calling thread sleeps: it looks for
; the end of the others for a while, so that this processor is awake when the thread is to run on. While it looks, it counts as $watching jobs.
define void @member(ptr %member) {
entry:
  %begin = getelementptr i8, ptr %member, i64 $MEMBER_BEGIN
  %state.p = getelementptr i8, ptr %member, i64 $MEMBER_STATE
  %pool.p = getelementptr i8, ptr %member, i64 $MEMBER_POOL
  %pool = load ptr, ptr %pool.p, align 8
  %offset.p = getelementptr i8, ptr %member, i64 $MEMBER_JOB
  %offset = load i64, ptr %offset.p, align 8
  %jobs.p = getelementptr i8, ptr %pool, i64 $POOL_JOBS
  %left.p = getelementptr i8, ptr %pool, i64 $POOL_LEFT
  %ended = getelementptr i8, ptr %pool, i64 $POOL_ENDED
  %home.p = getelementptr i8, ptr %pool, i64 $POOL_HOME
  %cpu.p = getelementptr i8, ptr %member, i64 $MEMBER_CPU
  %cpu = load i64, ptr %cpu.p, align 8
  br label %wait
wait:
  %interrupted = call i32 @sem_wait(ptr %begin)
  %again = icmp ne i32 %interrupted, 0
  br i1 %again, label %wait, label %work
work:
  %jobs = load ptr, ptr %jobs.p, align 8
  call void @work(ptr %jobs, i64 %offset)
  %home = load i64, ptr %home.p, align 8
  %at_home = icmp eq i64 %home, %cpu
  %crowded = icmp slt i64 %home, 0
  %sleepy = or i1 %at_home, %crowded
  %then = select i1 %sleepy, i64 0, i64 1
  store atomic i64 %then, ptr %state.p seq_cst, align 8
  br i1 %at_home, label %watch, label %leave
leave:
  %before = atomicrmw sub ptr %left.p, i64 1 seq_cst
  %last = icmp eq i64 %before, 1
  br i1 %last, label %over, label %rest
watch:
  %others = atomicrmw add ptr %left.p, i64 $others seq_cst
  br label %watching
watching:
  %looks = phi i64 [ 0, %watch ], [ %looks1, %watching ]
  %left = load atomic i64, ptr %left.p seq_cst, align 8
  %looks1 = add i64 %looks, 1
  %alone = icmp eq i64 %left, $watching
  %enough = icmp eq i64 %looks1, $looks
  %looked = or i1 %alone, %enough
  br i1 %looked, label %watched, label %watching
watched:
  %were = atomicrmw sub ptr %left.p, i64 $watching seq_cst
  %none = icmp eq i64 %were, $watching
  br i1 %none, label %over, label %rest
over:
  call i32 @sem_post(ptr %ended)
  br label %rest
rest:
  br i1 %sleepy, label %wait, label %linger
linger:
  %since = call i64 @llvm.readcyclecounter()
  br label %look
look:
  %state = load atomic i64, ptr %state.p seq_cst, align 8
  %given = icmp eq i64 %state, 2
  br i1 %given, label %work, label %pause
pause:
  call void @llvm.x86.sse2.pause()
  %now = call i64 @llvm.readcyclecounter()
  %cycles = sub i64 %now, %since
  %late = icmp ugt i64 %cycles, $cycles
  br i1 %late, label %sleep, label %look
sleep:
  %exchange = cmpxchg ptr %state.p, i64 1, i64 0 seq_cst seq_cst
  %sleeps = extractvalue { i64, i1 } %exchange, 1
  br i1 %sleeps, label %wait, label %work
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
  %state.p = getelementptr i8, ptr %member, i64 $MEMBER_STATE
  %state = atomicrmw xchg ptr %state.p, i64 2 seq_cst
  %sleeps = icmp eq i64 %state, 0
  br i1 %sleeps, label %wake, label %begun
wake:
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

; The processor of the calling thread. The pool is told, if each of several members has a processor for itself.
define internal i32 @here(ptr %pool, i64 %count) {
  %cpu = call i32 @sched_getcpu()
  %wide = zext i32 %cpu to i64
  %cpus.p = getelementptr i8, ptr %pool, i64 $POOL_CPUS
  %cpus = load i64, ptr %cpus.p, align 8
  %one = icmp eq i64 %count, 1
  %many = icmp ugt i64 %count, %cpus
  %crowded = or i1 %one, %many
  %home = select i1 %crowded, i64 -1, i64 %wide
  %home.p = getelementptr i8, ptr %pool, i64 $POOL_HOME
  store i64 %home, ptr %home.p, align 8
  ret i32 %cpu
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
  call i32 @here(ptr %pool, i64 %count)
  call void @begin(ptr %pool, ptr %members, i64 %count, ptr %jobs, i64 -1)
  call void @await(ptr %pool, ptr %until)
  ret void
}

; The same, but the calling thread does the job of the member whose processor it is on (of the first one, if it is on none of theirs), and looks for the end of
; the others for a while before it sleeps: a processor that sleeps takes long to wake.
define void @join(ptr %pool, ptr %members, i64 %count, ptr %jobs) {
entry:
  %cpu = call i32 @here(ptr %pool, i64 %count)
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
