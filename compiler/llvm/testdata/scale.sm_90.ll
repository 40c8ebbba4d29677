; kernel Scale for llvm:sm_90
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @Scale(ptr addrspace(1) noundef %x, i64 noundef %x.len, float noundef %a, [4 x i8] %0) nounwind "target-cpu"="sm_90" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" {
.b0:
	%1 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
	%2 = zext i32 %1 to i64
	%3 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
	%4 = zext i32 %3 to i64
	%5 = mul i64 %2, %4
	%6 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
	%7 = zext i32 %6 to i64
	%8 = add i64 %5, %7
	br label %.b1

.b1:
	%9 = phi i64 [ %8, %.b0 ], [ %18, %.l1 ]
	%10 = icmp slt i64 %9, %x.len
	; k/scale.go:12
	br i1 %10, label %.b2, label %.b3

.b2:
	; k/scale.go:13
	%11 = icmp ult i64 %9, %x.len
	br i1 %11, label %.l1, label %.l2

.l2:
	call void @llvm.trap()
	unreachable

.l1:
	%12 = getelementptr float, ptr addrspace(1) %x, i64 %9
	%13 = load float, ptr addrspace(1) %12, align 4
	%14 = fmul float %13, %a
	store float %14, ptr addrspace(1) %12, align 4
	%15 = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
	%16 = zext i32 %15 to i64
	%17 = mul i64 %16, %4
	%18 = add i64 %9, %17
	br label %.b1

.b3:
	ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()

declare i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()

declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()

declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

declare void @llvm.trap()
