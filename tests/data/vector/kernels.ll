; Kernels for the vector compiler (IR with GenX intrinsics); tests/semantics/test_vector_ir.py has what they compute.
target datalayout = "e-p:64:64-i64:64-n8:16:32:64"
target triple = "genx64-unknown-unknown"

declare <16 x float> @llvm.genx.svm.block.ld.unaligned.v16f32.i64(i64)
declare void @llvm.genx.svm.block.st.i64.v16f32(i64, <16 x float>)
declare <16 x i32> @llvm.genx.svm.block.ld.unaligned.v16i32.i64(i64)
declare void @llvm.genx.svm.block.st.i64.v16i32(i64, <16 x i32>)
declare <32 x i32> @llvm.genx.svm.block.ld.unaligned.v32i32.i64(i64)
declare void @llvm.genx.svm.block.st.i64.v32i32(i64, <32 x i32>)
declare <32 x half> @llvm.genx.svm.block.ld.unaligned.v32f16.i64(i64)
declare void @llvm.genx.svm.block.st.i64.v32f16(i64, <32 x half>)
declare <8 x i64> @llvm.genx.svm.block.ld.unaligned.v8i64.i64(i64)
declare void @llvm.genx.svm.block.st.i64.v8i64(i64, <8 x i64>)
declare <16 x i32> @llvm.genx.rdregioni.v16i32.v32i32.i16(<32 x i32>, i32, i32, i32, i16, i32)
declare i32 @llvm.genx.rdregioni.i32.v16i32.i16(<16 x i32>, i32, i32, i32, i16, i32)
declare <16 x i32> @llvm.genx.rdregioni.v16i32.v16i32.v16i16(<16 x i32>, i32, i32, i32, <16 x i16>, i32)
declare <32 x i32> @llvm.genx.wrregioni.v32i32.v16i32.i16.i1(<32 x i32>, <16 x i32>, i32, i32, i32, i16, i32, i1)
declare <16 x i32> @llvm.genx.wrregioni.v16i32.i32.i16.i1(<16 x i32>, i32, i32, i32, i32, i16, i32, i1)
declare { <32 x i1>, <16 x i1>, i1 } @llvm.genx.simdcf.goto.v32i1.v16i1(<32 x i1>, <16 x i1>, <16 x i1>)
declare { <32 x i1>, i1 } @llvm.genx.simdcf.join.v32i1.v16i1(<32 x i1>, <16 x i1>)
declare i1 @llvm.genx.any.v16i1(<16 x i1>)
declare void @llvm.genx.svm.scatter.v16i1.v16i64.v16i32(<16 x i1>, i32, <16 x i64>, <16 x i32>)
declare <16 x i32> @llvm.genx.svm.atomic.add.v16i32.v16i1.v16i64(<16 x i1>, <16 x i64>, <16 x i32>, <16 x i32>)
declare void @llvm.genx.barrier()
declare void @llvm.genx.fence(i8)
declare <3 x i16> @llvm.genx.local.id16.v3i16()
declare <16 x i32> @llvm.genx.gather.scaled.v16i32.v16i1.v16i32(<16 x i1>, i32, i16, i32, i32, <16 x i32>, <16 x i32>)
declare void @llvm.genx.scatter.scaled.v16i1.v16i32.v16i32(<16 x i1>, i32, i16, i32, i32, <16 x i32>, <16 x i32>)
declare <16 x i32> @llvm.genx.cbit.v16i32.v16i32(<16 x i32>)
declare <16 x i32> @llvm.genx.bfrev.v16i32(<16 x i32>)

; y += 3 x
define dllexport spir_kernel void @saxpy(i64 %in, i64 %out) #0 {
  %x = call <16 x float> @llvm.genx.svm.block.ld.unaligned.v16f32.i64(i64 %in)
  %y = call <16 x float> @llvm.genx.svm.block.ld.unaligned.v16f32.i64(i64 %out)
  %a = fmul <16 x float> %x, <float 3.0, float 3.0, float 3.0, float 3.0, float 3.0, float 3.0, float 3.0, float 3.0, float 3.0, float 3.0, float 3.0, float 3.0, float 3.0, float 3.0, float 3.0, float 3.0>
  %b = fadd <16 x float> %a, %y
  call void @llvm.genx.svm.block.st.i64.v16f32(i64 %out, <16 x float> %b)
  ret void
}

; out[i] = in[in[i] & 15]: an address for each lane
define dllexport spir_kernel void @rotate(i64 %in, i64 %out) #0 {
  %x = call <16 x i32> @llvm.genx.svm.block.ld.unaligned.v16i32.i64(i64 %in)
  %n = and <16 x i32> %x, <i32 15, i32 15, i32 15, i32 15, i32 15, i32 15, i32 15, i32 15, i32 15, i32 15, i32 15, i32 15, i32 15, i32 15, i32 15, i32 15>
  %o = shl <16 x i32> %n, <i32 2, i32 2, i32 2, i32 2, i32 2, i32 2, i32 2, i32 2, i32 2, i32 2, i32 2, i32 2, i32 2, i32 2, i32 2, i32 2>
  %w = trunc <16 x i32> %o to <16 x i16>
  %y = call <16 x i32> @llvm.genx.rdregioni.v16i32.v16i32.v16i16(<16 x i32> %x, i32 0, i32 1, i32 0, <16 x i16> %w, i32 undef)
  call void @llvm.genx.svm.block.st.i64.v16i32(i64 %out, <16 x i32> %y)
  ret void
}

; even elements first, then odd ones, and back with the halves exchanged
define dllexport spir_kernel void @interleave(i64 %in, i64 %out) #0 {
  %x = call <32 x i32> @llvm.genx.svm.block.ld.unaligned.v32i32.i64(i64 %in)
  %even = call <16 x i32> @llvm.genx.rdregioni.v16i32.v32i32.i16(<32 x i32> %x, i32 0, i32 16, i32 2, i16 0, i32 undef)
  %odd = call <16 x i32> @llvm.genx.rdregioni.v16i32.v32i32.i16(<32 x i32> %x, i32 0, i32 16, i32 2, i16 4, i32 undef)
  %sum = add <16 x i32> %even, %odd
  %a = call <32 x i32> @llvm.genx.wrregioni.v32i32.v16i32.i16.i1(<32 x i32> undef, <16 x i32> %sum, i32 0, i32 16, i32 2, i16 0, i32 undef, i1 true)
  %b = call <32 x i32> @llvm.genx.wrregioni.v32i32.v16i32.i16.i1(<32 x i32> %a, <16 x i32> %even, i32 0, i32 16, i32 2, i16 4, i32 undef, i1 true)
  call void @llvm.genx.svm.block.st.i64.v32i32(i64 %out, <32 x i32> %b)
  ret void
}

; steps of Collatz: lanes leave a loop one by one
define dllexport spir_kernel void @collatz(i64 %in, i64 %out) #0 {
entry:
  %x0 = call <16 x i32> @llvm.genx.svm.block.ld.unaligned.v16i32.i64(i64 %in)
  br label %loop
loop:
  %x = phi <16 x i32> [ %x0, %entry ], [ %xn, %loop ]
  %n = phi <16 x i32> [ zeroinitializer, %entry ], [ %nn, %loop ]
  %more = icmp ugt <16 x i32> %x, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %bit = and <16 x i32> %x, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %odd = icmp ne <16 x i32> %bit, zeroinitializer
  %half = lshr <16 x i32> %x, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %three = mul <16 x i32> %x, <i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3>
  %up = add <16 x i32> %three, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %next = select <16 x i1> %odd, <16 x i32> %up, <16 x i32> %half
  %xn = select <16 x i1> %more, <16 x i32> %next, <16 x i32> %x
  %one = add <16 x i32> %n, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %nn = select <16 x i1> %more, <16 x i32> %one, <16 x i32> %n
  %any = call i1 @llvm.genx.any.v16i1(<16 x i1> %more)
  br i1 %any, label %loop, label %done
done:
  call void @llvm.genx.svm.block.st.i64.v16i32(i64 %out, <16 x i32> %nn)
  ret void
}

; x to the power of the first element: a function that calls itself
define internal <16 x i32> @times(<16 x i32> %x, i32 %n) #1 {
entry:
  %last = icmp eq i32 %n, 0
  br i1 %last, label %one, label %more
one:
  ret <16 x i32> <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
more:
  %less = add i32 %n, -1
  %rest = call <16 x i32> @times(<16 x i32> %x, i32 %less)
  %all = mul <16 x i32> %rest, %x
  ret <16 x i32> %all
}
define dllexport spir_kernel void @power(i64 %in, i64 %out) #0 {
  %x = call <16 x i32> @llvm.genx.svm.block.ld.unaligned.v16i32.i64(i64 %in)
  %n = call i32 @llvm.genx.rdregioni.i32.v16i32.i16(<16 x i32> %x, i32 0, i32 1, i32 0, i16 0, i32 undef)
  %y = call <16 x i32> @times(<16 x i32> %x, i32 %n)
  call void @llvm.genx.svm.block.st.i64.v16i32(i64 %out, <16 x i32> %y)
  ret void
}

; one of two functions by a pointer
define internal <16 x i32> @double(<16 x i32> %x) #1 {
  %y = add <16 x i32> %x, %x
  ret <16 x i32> %y
}
define internal <16 x i32> @square(<16 x i32> %x) #1 {
  %y = mul <16 x i32> %x, %x
  ret <16 x i32> %y
}
define dllexport spir_kernel void @choose(i64 %in, i64 %out) #0 {
  %x = call <16 x i32> @llvm.genx.svm.block.ld.unaligned.v16i32.i64(i64 %in)
  %n = call i32 @llvm.genx.rdregioni.i32.v16i32.i16(<16 x i32> %x, i32 0, i32 1, i32 0, i16 0, i32 undef)
  %bit = and i32 %n, 1
  %odd = icmp ne i32 %bit, 0
  %f = select i1 %odd, <16 x i32> (<16 x i32>)* @square, <16 x i32> (<16 x i32>)* @double
  %y = call <16 x i32> %f(<16 x i32> %x)
  call void @llvm.genx.svm.block.st.i64.v16i32(i64 %out, <16 x i32> %y)
  ret void
}

; odd numbers go to the places that they name
define dllexport spir_kernel void @scatter(i64 %in, i64 %out) #0 {
  %x = call <16 x i32> @llvm.genx.svm.block.ld.unaligned.v16i32.i64(i64 %in)
  %bit = trunc <16 x i32> %x to <16 x i1>
  %w = zext <16 x i32> %x to <16 x i64>
  %o = shl <16 x i64> %w, <i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2>
  %i = insertelement <16 x i64> undef, i64 %out, i32 0
  %s = shufflevector <16 x i64> %i, <16 x i64> undef, <16 x i32> zeroinitializer
  %a = add <16 x i64> %o, %s
  call void @llvm.genx.svm.scatter.v16i1.v16i64.v16i32(<16 x i1> %bit, i32 0, <16 x i64> %a, <16 x i32> %x)
  ret void
}

; four threads exchange their rows through local memory
define dllexport spir_kernel void @share(i64 %in, i64 %out) #0 {
  %ids = call <3 x i16> @llvm.genx.local.id16.v3i16()
  %id = extractelement <3 x i16> %ids, i32 0
  %t = zext i16 %id to i32
  %row = shl i32 %t, 6
  %row64 = zext i32 %row to i64
  %from = add i64 %in, %row64
  %x = call <16 x i32> @llvm.genx.svm.block.ld.unaligned.v16i32.i64(i64 %from)
  %i = insertelement <16 x i32> undef, i32 %row, i32 0
  %s = shufflevector <16 x i32> %i, <16 x i32> undef, <16 x i32> zeroinitializer
  %at = add <16 x i32> %s, <i32 0, i32 4, i32 8, i32 12, i32 16, i32 20, i32 24, i32 28, i32 32, i32 36, i32 40, i32 44, i32 48, i32 52, i32 56, i32 60>
  call void @llvm.genx.scatter.scaled.v16i1.v16i32.v16i32(<16 x i1> <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true>, i32 2, i16 0, i32 254, i32 0, <16 x i32> %at, <16 x i32> %x)
  call void @llvm.genx.fence(i8 33)
  call void @llvm.genx.barrier()
  %back = sub <16 x i32> <i32 252, i32 252, i32 252, i32 252, i32 252, i32 252, i32 252, i32 252, i32 252, i32 252, i32 252, i32 252, i32 252, i32 252, i32 252, i32 252>, %at
  %y = call <16 x i32> @llvm.genx.gather.scaled.v16i32.v16i1.v16i32(<16 x i1> <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true>, i32 2, i16 0, i32 254, i32 0, <16 x i32> %back, <16 x i32> undef)
  %to = add i64 %out, %row64
  call void @llvm.genx.svm.block.st.i64.v16i32(i64 %to, <16 x i32> %y)
  ret void
}

; sums by the low two bits, of all threads
define dllexport spir_kernel void @count(i64 %in, i64 %out) #0 {
  %x = call <16 x i32> @llvm.genx.svm.block.ld.unaligned.v16i32.i64(i64 %in)
  %n = and <16 x i32> %x, <i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3>
  %w = zext <16 x i32> %n to <16 x i64>
  %o = shl <16 x i64> %w, <i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2>
  %i = insertelement <16 x i64> undef, i64 %out, i32 0
  %s = shufflevector <16 x i64> %i, <16 x i64> undef, <16 x i32> zeroinitializer
  %a = add <16 x i64> %o, %s
  %r = call <16 x i32> @llvm.genx.svm.atomic.add.v16i32.v16i1.v16i64(<16 x i1> <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true>, <16 x i64> %a, <16 x i32> %x, <16 x i32> undef)
  ret void
}

; x * x + x of halves
define dllexport spir_kernel void @halves(i64 %in, i64 %out) #0 {
  %x = call <32 x half> @llvm.genx.svm.block.ld.unaligned.v32f16.i64(i64 %in)
  %m = fmul <32 x half> %x, %x
  %y = fadd <32 x half> %m, %x
  call void @llvm.genx.svm.block.st.i64.v32f16(i64 %out, <32 x half> %y)
  ret void
}

; the sum of four rows: a loop of the whole thread
define dllexport spir_kernel void @sum(i64 %in, i64 %out) #0 {
entry:
  br label %loop
loop:
  %k = phi i32 [ 0, %entry ], [ %kn, %loop ]
  %at = phi i64 [ %in, %entry ], [ %next, %loop ]
  %s = phi <16 x i32> [ zeroinitializer, %entry ], [ %sn, %loop ]
  %x = call <16 x i32> @llvm.genx.svm.block.ld.unaligned.v16i32.i64(i64 %at)
  %sn = add <16 x i32> %s, %x
  %next = add i64 %at, 64
  %kn = add i32 %k, 1
  %more = icmp ult i32 %kn, 4
  br i1 %more, label %loop, label %done
done:
  call void @llvm.genx.svm.block.st.i64.v16i32(i64 %out, <16 x i32> %sn)
  ret void
}

; a number by the first element modulo 4: a table of jumps
define dllexport spir_kernel void @digits(i64 %in, i64 %out) #0 {
entry:
  %x = call <16 x i32> @llvm.genx.svm.block.ld.unaligned.v16i32.i64(i64 %in)
  %n = call i32 @llvm.genx.rdregioni.i32.v16i32.i16(<16 x i32> %x, i32 0, i32 1, i32 0, i16 0, i32 undef)
  %k = urem i32 %n, 5
  switch i32 %k, label %other [
    i32 0, label %zero
    i32 1, label %one
    i32 2, label %two
    i32 3, label %three
  ]
zero:
  br label %done
one:
  %a = add i32 %n, 100
  br label %done
two:
  %b = mul i32 %n, 7
  br label %done
three:
  %c = sub i32 0, %n
  br label %done
other:
  br label %done
done:
  %y = phi i32 [ 11, %zero ], [ %a, %one ], [ %b, %two ], [ %c, %three ], [ 44, %other ]
  %z = call <16 x i32> @llvm.genx.wrregioni.v16i32.i32.i16.i1(<16 x i32> %x, i32 %y, i32 0, i32 1, i32 0, i16 8, i32 undef, i1 true)
  call void @llvm.genx.svm.block.st.i64.v16i32(i64 %out, <16 x i32> %z)
  ret void
}

; 64 bits: x * 5 - (x >> 3)
define dllexport spir_kernel void @wide(i64 %in, i64 %out) #0 {
  %x = call <8 x i64> @llvm.genx.svm.block.ld.unaligned.v8i64.i64(i64 %in)
  %a = shl <8 x i64> %x, <i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2, i64 2>
  %b = add <8 x i64> %a, %x
  %c = lshr <8 x i64> %x, <i64 3, i64 3, i64 3, i64 3, i64 3, i64 3, i64 3, i64 3>
  %d = sub <8 x i64> %b, %c
  call void @llvm.genx.svm.block.st.i64.v8i64(i64 %out, <8 x i64> %d)
  ret void
}

; the set bits of x, and x from the other end
define dllexport spir_kernel void @bits(i64 %in, i64 %out) #0 {
  %x = call <16 x i32> @llvm.genx.svm.block.ld.unaligned.v16i32.i64(i64 %in)
  %n = call <16 x i32> @llvm.genx.cbit.v16i32.v16i32(<16 x i32> %x)
  %r = call <16 x i32> @llvm.genx.bfrev.v16i32(<16 x i32> %x)
  %y = add <16 x i32> %n, %r
  call void @llvm.genx.svm.block.st.i64.v16i32(i64 %out, <16 x i32> %y)
  ret void
}

; steps of Collatz until 1, one at least, under an execution mask that goto narrows and join restores
define dllexport spir_kernel void @diverge(i64 %in, i64 %out) #0 {
entry:
  %x0 = call <16 x i32> @llvm.genx.svm.block.ld.unaligned.v16i32.i64(i64 %in)
  br label %loop
loop:
  %em = phi <32 x i1> [ <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true>, %entry ], [ %em1, %loop ]
  %rm = phi <16 x i1> [ zeroinitializer, %entry ], [ %rm1, %loop ]
  %x = phi <16 x i32> [ %x0, %entry ], [ %x1, %loop ]
  %n = phi <16 x i32> [ zeroinitializer, %entry ], [ %n1, %loop ]
  %run = shufflevector <32 x i1> %em, <32 x i1> undef, <16 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7, i32 8, i32 9, i32 10, i32 11, i32 12, i32 13, i32 14, i32 15>
  %bit = and <16 x i32> %x, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %odd = icmp ne <16 x i32> %bit, zeroinitializer
  %half = lshr <16 x i32> %x, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %three = mul <16 x i32> %x, <i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3, i32 3>
  %up = add <16 x i32> %three, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %next = select <16 x i1> %odd, <16 x i32> %up, <16 x i32> %half
  %more = add <16 x i32> %n, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %x1 = select <16 x i1> %run, <16 x i32> %next, <16 x i32> %x
  %n1 = select <16 x i1> %run, <16 x i32> %more, <16 x i32> %n
  %stays = icmp ugt <16 x i32> %x1, <i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1, i32 1>
  %goto = call { <32 x i1>, <16 x i1>, i1 } @llvm.genx.simdcf.goto.v32i1.v16i1(<32 x i1> %em, <16 x i1> %rm, <16 x i1> %stays)
  %em1 = extractvalue { <32 x i1>, <16 x i1>, i1 } %goto, 0
  %rm1 = extractvalue { <32 x i1>, <16 x i1>, i1 } %goto, 1
  %none = extractvalue { <32 x i1>, <16 x i1>, i1 } %goto, 2
  br i1 %none, label %done, label %loop
done:
  %join = call { <32 x i1>, i1 } @llvm.genx.simdcf.join.v32i1.v16i1(<32 x i1> %em1, <16 x i1> %rm1)
  call void @llvm.genx.svm.block.st.i64.v16i32(i64 %out, <16 x i32> %n1)
  ret void
}

attributes #0 = { noinline nounwind "CMGenxMain" "oclrt"="1" }
attributes #1 = { noinline nounwind "CMStackCall" }
!genx.kernels = !{!0, !1, !2, !3, !4, !5, !6, !7, !8, !9, !10, !11, !12, !13, !14}
!genx.kernel.internal = !{!15, !16, !17, !18, !19, !20, !21, !22, !23, !24, !25, !26, !27, !28, !29}
!0 = !{void (i64, i64)* @saxpy, !"saxpy", !30, i32 0, i32 0, !31, !32, i32 0}
!1 = !{void (i64, i64)* @rotate, !"rotate", !30, i32 0, i32 0, !31, !32, i32 0}
!2 = !{void (i64, i64)* @interleave, !"interleave", !30, i32 0, i32 0, !31, !32, i32 0}
!3 = !{void (i64, i64)* @collatz, !"collatz", !30, i32 0, i32 0, !31, !32, i32 0}
!4 = !{void (i64, i64)* @power, !"power", !30, i32 0, i32 0, !31, !32, i32 0}
!5 = !{void (i64, i64)* @choose, !"choose", !30, i32 0, i32 0, !31, !32, i32 0}
!6 = !{void (i64, i64)* @scatter, !"scatter", !30, i32 0, i32 0, !31, !32, i32 0}
!7 = !{void (i64, i64)* @share, !"share", !30, i32 256, i32 0, !31, !32, i32 0}
!8 = !{void (i64, i64)* @count, !"count", !30, i32 0, i32 0, !31, !32, i32 0}
!9 = !{void (i64, i64)* @halves, !"halves", !30, i32 0, i32 0, !31, !32, i32 0}
!10 = !{void (i64, i64)* @sum, !"sum", !30, i32 0, i32 0, !31, !32, i32 0}
!11 = !{void (i64, i64)* @digits, !"digits", !30, i32 0, i32 0, !31, !32, i32 0}
!12 = !{void (i64, i64)* @wide, !"wide", !30, i32 0, i32 0, !31, !32, i32 0}
!13 = !{void (i64, i64)* @bits, !"bits", !30, i32 0, i32 0, !31, !32, i32 0}
!14 = !{void (i64, i64)* @diverge, !"diverge", !30, i32 0, i32 0, !31, !32, i32 0}
!15 = !{void (i64, i64)* @saxpy, null, null, null, null}
!16 = !{void (i64, i64)* @rotate, null, null, null, null}
!17 = !{void (i64, i64)* @interleave, null, null, null, null}
!18 = !{void (i64, i64)* @collatz, null, null, null, null}
!19 = !{void (i64, i64)* @power, null, null, null, null}
!20 = !{void (i64, i64)* @choose, null, null, null, null}
!21 = !{void (i64, i64)* @scatter, null, null, null, null}
!22 = !{void (i64, i64)* @share, null, null, null, null}
!23 = !{void (i64, i64)* @count, null, null, null, null}
!24 = !{void (i64, i64)* @halves, null, null, null, null}
!25 = !{void (i64, i64)* @sum, null, null, null, null}
!26 = !{void (i64, i64)* @digits, null, null, null, null}
!27 = !{void (i64, i64)* @wide, null, null, null, null}
!28 = !{void (i64, i64)* @bits, null, null, null, null}
!29 = !{void (i64, i64)* @diverge, null, null, null, null}
!30 = !{i32 0, i32 0}
!31 = !{i32 0, i32 0}
!32 = !{!"svmptr_t", !"svmptr_t"}
