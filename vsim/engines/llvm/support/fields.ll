; Accesses to fields of the structures in abi.py (see fields.py).

;; load
  %$name.p = getelementptr i8, ptr %$base, i64 $offset
  %$name = load $ty, ptr %$name.p, align 8

;; store
  %$place = getelementptr i8, ptr %$base, i64 $offset
  store i64 $value, ptr %$place, align 8

;; add
  %$name.p = getelementptr i8, ptr %$base, i64 $offset
  %$name.o = load i64, ptr %$name.p, align 8
  %$name.n = add i64 %$name.o, $value
  store i64 %$name.n, ptr %$name.p, align 8
