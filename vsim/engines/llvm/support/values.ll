; How often values were seen under keys: a table that compiled code counts in (see values.py).

;; count
; The host empties the table when half of it is full.
define void @count_value(ptr %values, i64 %key, i64 %value) #1 {
entry:
  %table = load ptr, ptr %values, align 8
  %key.m = mul i64 %key, -7046029254386353131
  %value.m = mul i64 %value, -4417276706812531889
  %mixed = xor i64 %key.m, %value.m
  %start = lshr i64 %mixed, $VALUES_TABLE_SHIFT
  br label %look
look:
  %at = phi i64 [ %start, %entry ], [ %at.n, %other ]
  %record = getelementptr [$VALUES_RECORD x i8], ptr %table, i64 %at
  %key.o = load i64, ptr %record, align 8
  %value.p = getelementptr i8, ptr %record, i64 8
  %value.o = load i64, ptr %value.p, align 8
  %count = get i64, %record, 16
  %count1 = add i64 %count, 1
  %same.k = icmp eq i64 %key.o, %key
  %same.v = icmp eq i64 %value.o, %value
  %same = and i1 %same.k, %same.v
  br i1 %same, label %found, label %differs
found:
  store i64 %count1, ptr %count.p, align 8
  ret void
differs:
  %free = icmp eq i64 %key.o, 0
  br i1 %free, label %new, label %other
other:
  %at.1 = add i64 %at, 1
  %at.n = and i64 %at.1, $VALUES_TABLE_MASK
  br label %look
new:
  store i64 %key, ptr %record, align 8
  store i64 %value, ptr %value.p, align 8
  store i64 1, ptr %count.p, align 8
  %used.p = getelementptr i8, ptr %values, i64 $VALUES_COUNT
  %used.o = load i64, ptr %used.p, align 8
  %used.n = add i64 %used.o, 1
  store i64 %used.n, ptr %used.p, align 8
  %full = icmp eq i64 %used.n, $VALUES_TABLE_LIMIT
  br i1 %full, label %empty, label %done
empty:
  %empties = get ptr, %values, $VALUES_EMPTY
  call void %empties()
  br label %done
done:
  ret void
}
