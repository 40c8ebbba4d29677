; kernel Vector for llvm:sm_90
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @Vector(ptr addrspace(1) noundef noalias align 16 %out, i64 noundef %out.len, ptr addrspace(1) noundef noalias readonly align 16 %in, i64 noundef %in.len) nounwind "target-cpu"="sm_90" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" {
.b0:
	%0 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
	%1 = zext i32 %0 to i64
	%2 = mul i64 %1, 4
	br label %.b1

.b1:
	%3 = phi i64 [ %2, %.b0 ], [ %20, %.b2 ]
	%4 = icmp slt i64 %3, %out.len
	br i1 %4, label %.b2, label %.b3

.b2:
	%5 = getelementptr float, ptr addrspace(1) %in, i64 %3
	%6 = load float, ptr addrspace(1) %5, align 4
	%7 = add i64 %3, 1
	%8 = getelementptr float, ptr addrspace(1) %in, i64 %7
	%9 = load float, ptr addrspace(1) %8, align 4
	%10 = add i64 %3, 2
	%11 = getelementptr float, ptr addrspace(1) %in, i64 %10
	%12 = load float, ptr addrspace(1) %11, align 4
	%13 = add i64 %3, 3
	%14 = getelementptr float, ptr addrspace(1) %in, i64 %13
	%15 = load float, ptr addrspace(1) %14, align 4
	%16 = getelementptr float, ptr addrspace(1) %out, i64 %3
	store float %6, ptr addrspace(1) %16, align 4
	%17 = getelementptr float, ptr addrspace(1) %out, i64 %7
	store float %9, ptr addrspace(1) %17, align 4
	%18 = getelementptr float, ptr addrspace(1) %out, i64 %10
	store float %12, ptr addrspace(1) %18, align 4
	%19 = getelementptr float, ptr addrspace(1) %out, i64 %13
	store float %15, ptr addrspace(1) %19, align 4
	%20 = add i64 %3, 256
	br label %.b1

.b3:
	%21 = load float, ptr addrspace(1) %out, align 4
	%22 = getelementptr float, ptr addrspace(1) %out, i64 1
	store float %21, ptr addrspace(1) %22, align 4
	%23 = load float, ptr addrspace(1) %22, align 4
	%24 = getelementptr float, ptr addrspace(1) %out, i64 2
	%25 = load float, ptr addrspace(1) %24, align 4
	%26 = fadd float %23, %25
	store float %26, ptr addrspace(1) %24, align 4
	ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
