; kernel approx for llvm:sm_90
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @approx(ptr addrspace(1) noundef %x, i64 noundef %x.len) nounwind "target-cpu"="sm_90" "denormal-fp-math"="ieee,ieee" "denormal-fp-math-f32"="ieee,ieee" {
.b0:
	%0 = load float, ptr addrspace(1) %x, align 4
	%1 = call float @llvm.nvvm.ex2.approx.ftz.f(float %0)
	%2 = call float @llvm.nvvm.lg2.approx.f(float %1)
	%3 = call float @llvm.nvvm.sin.approx.f(float %2)
	%4 = call float @llvm.nvvm.cos.approx.f(float %3)
	%5 = call float @llvm.fabs.f32(float %4)
	%6 = fmul float %5, 0x4007154760000000
	%7 = call float @llvm.nvvm.ex2.approx.ftz.f(float %6)
	%8 = fadd float %7, 1.0
	%9 = fdiv float 1.0, %8, !fpmath !{float 2.5}
	%10 = call float @llvm.fma.f32(float %9, float -2.0, float 1.0)
	%11 = call float @llvm.copysign.f32(float %10, float %4)
	%12 = fcmp olt float %5, 0.015625
	%13 = select i1 %12, float %4, float %11
	%14 = call float @llvm.nvvm.rsqrt.approx.f(float %13)
	%15 = call float @llvm.nvvm.sqrt.approx.f(float %14)
	%16 = fdiv float 1.0, %15
	%17 = fdiv float 3.0, %16
	store float %17, ptr addrspace(1) %x, align 4
	ret void
}

declare float @llvm.copysign.f32(float %0, float %1)

declare float @llvm.fabs.f32(float %0)

declare float @llvm.fma.f32(float %0, float %1, float %2)

declare float @llvm.nvvm.cos.approx.f(float %0)

declare float @llvm.nvvm.ex2.approx.ftz.f(float %0)

declare float @llvm.nvvm.lg2.approx.f(float %0)

declare float @llvm.nvvm.rsqrt.approx.f(float %0)

declare float @llvm.nvvm.sin.approx.f(float %0)

declare float @llvm.nvvm.sqrt.approx.f(float %0)
