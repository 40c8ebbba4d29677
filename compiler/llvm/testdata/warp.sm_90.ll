; kernel Warp for llvm:sm_90
target triple = "nvptx64-nvidia-cuda"

@Warp_shared0 = internal addrspace(3) global [1 x i32] undef, align 16

define ptx_kernel void @Warp(ptr addrspace(1) noundef %x, i64 noundef %x.len, ptr addrspace(1) noundef %m, i64 noundef %m.len, i64 noundef %d) nounwind "target-cpu"="sm_90" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" {
.b0:
	%0 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
	%1 = zext i32 %0 to i64
	%2 = getelementptr double, ptr addrspace(1) %x, i64 %1
	%3 = load double, ptr addrspace(1) %2, align 8
	%4 = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
	%5 = zext i32 %4 to i64
	%6 = xor i64 %5, 16
	%7 = icmp ult i64 %6, 32
	%8 = trunc i64 %6 to i32
	%9 = select i1 %7, i32 %8, i32 %4
	%10 = bitcast double %3 to i64
	%11 = trunc i64 %10 to i32
	%12 = lshr i64 %10, 32
	%13 = trunc i64 %12 to i32
	%14 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %11, i32 %9, i32 31)
	%15 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %13, i32 %9, i32 31)
	%16 = zext i32 %14 to i64
	%17 = zext i32 %15 to i64
	%18 = shl i64 %17, 32
	%19 = or i64 %16, %18
	%20 = bitcast i64 %19 to double
	%21 = fadd double %3, %20
	%22 = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
	%23 = zext i32 %22 to i64
	%24 = add i64 %23, %d
	%25 = icmp ult i64 %24, 32
	%26 = trunc i64 %24 to i32
	%27 = select i1 %25, i32 %26, i32 %22
	%28 = bitcast double %21 to i64
	%29 = trunc i64 %28 to i32
	%30 = lshr i64 %28, 32
	%31 = trunc i64 %30 to i32
	%32 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %29, i32 %27, i32 31)
	%33 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %31, i32 %27, i32 31)
	%34 = zext i32 %32 to i64
	%35 = zext i32 %33 to i64
	%36 = shl i64 %35, 32
	%37 = or i64 %34, %36
	%38 = bitcast i64 %37 to double
	%39 = fptrunc double %38 to float
	%40 = trunc i64 0 to i32
	%41 = and i32 %40, 31
	%42 = bitcast float %39 to i32
	%43 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %42, i32 %41, i32 31)
	%44 = bitcast i32 %43 to float
	%45 = fcmp olt float %44, 0.0
	%46 = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %45)
	%47 = zext i32 %46 to i64
	%48 = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %45)
	%49 = call i1 @llvm.nvvm.vote.all.sync(i32 -1, i1 %48)
	br i1 %49, label %.b1, label %.b2

.b1:
	%50 = atomicrmw add ptr addrspace(3) @Warp_shared0, i32 1 syncscope("device") monotonic
	%51 = cmpxchg ptr addrspace(3) @Warp_shared0, i32 %50, i32 1 syncscope("device") monotonic monotonic
	%52 = extractvalue { i32, i1 } %51, 0
	br label %.b2

.b2:
	call void @llvm.nvvm.bar.warp.sync(i32 -1)
	%53 = getelementptr i64, ptr addrspace(1) %m, i64 %1
	%54 = atomicrmw or ptr addrspace(1) %53, i64 %47 syncscope("device") monotonic
	%55 = atomicrmw fadd ptr addrspace(1) %2, double %21 syncscope("device") monotonic
	%56 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
	%57 = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
	%58 = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
	%59 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
	%60 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
	%61 = mul i32 %58, %60
	%62 = add i32 %61, %57
	%63 = mul i32 %62, %59
	%64 = add i32 %63, %56
	%65 = lshr i32 %64, 5
	%66 = zext i32 %65 to i64
	%67 = icmp eq i64 32, 0
	%68 = icmp eq i64 32, -1
	%69 = or i1 %67, %68
	%70 = select i1 %69, i64 1, i64 32
	%71 = srem i64 %66, %70
	%72 = select i1 %67, i64 %66, i64 %71
	%73 = atomicrmw umax ptr addrspace(1) %53, i64 %72 syncscope("device") monotonic
	ret void
}

declare void @llvm.nvvm.bar.warp.sync(i32 %0)

declare i32 @llvm.nvvm.read.ptx.sreg.laneid()

declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()

declare i32 @llvm.nvvm.read.ptx.sreg.ntid.y()

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

declare i32 @llvm.nvvm.read.ptx.sreg.tid.y()

declare i32 @llvm.nvvm.read.ptx.sreg.tid.z()

declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %0, i32 %1, i32 %2, i32 %3)

declare i1 @llvm.nvvm.vote.all.sync(i32 %0, i1 %1)

declare i1 @llvm.nvvm.vote.any.sync(i32 %0, i1 %1)

declare i32 @llvm.nvvm.vote.ballot.sync(i32 %0, i1 %1)
